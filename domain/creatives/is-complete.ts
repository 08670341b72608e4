import type { CreativeContent } from './resource.ts';

export const isComplete = (content: CreativeContent): boolean => missingOf(content).length === 0;

/** What the format needs and the content lacks, as phrases for people. */
export const missingOf = (content: CreativeContent): readonly string[] =>
  [...needed[content.formatKind], filledSlots].flatMap((rule) => rule(content) ?? []);

/** @returns what is missing; undefined: nothing */
type Rule = (content: CreativeContent) => string | undefined;

const rule =
  (what: string, isMet: (content: CreativeContent) => boolean): Rule =>
  (content) =>
    isMet(content) ? undefined : what;

const either =
  (...rules: readonly Rule[]): Rule =>
  (content) => {
    const missing = rules.map((one) => one(content));
    return missing.includes(undefined) ? undefined : missing.join(' or ');
  };

const asset = rule('an asset in `slots`', ({ slots }) =>
  slots.some(({ kind, assetId }) => kind === 'asset' && assetId !== undefined),
);
const text = rule(
  'text in `copy`',
  ({ slots, copy }) =>
    Object.values(copy).some((one) => one !== '') ||
    slots.some(({ kind, value }) => kind === 'text' && value !== undefined && value !== ''),
);
const vast = rule('a `urlAsset` with the urlType `vast`', ({ urlAsset }) => urlAsset?.urlType === 'vast');
const script = rule(
  'a `urlAsset` with the urlType `tracker_script`',
  ({ urlAsset }) => urlAsset?.urlType === 'tracker_script',
);
const message = rule('a `message`', (content) => content.message !== undefined && content.message !== '');
const webhook = rule('a `webhookAsset`', ({ webhookAsset }) => webhookAsset !== undefined);
const cards = rule(
  'two `carouselCards`, each with an asset',
  ({ carouselCards }) =>
    carouselCards.length >= 2 && carouselCards.every(({ assetId }) => assetId !== undefined),
);

/** Every format needs them; formats without other rules need no more. */
const filledSlots = rule('an asset or a value in each of the `slots`', ({ slots }) =>
  slots.every(({ kind, assetId, value }) => (kind === 'asset' ? assetId : value) !== undefined),
);

const needed: Readonly<Record<CreativeContent['formatKind'], readonly Rule[]>> = {
  image: [asset],
  html5: [asset],
  display_tag: [either(text, script, asset)],
  image_carousel: [cards],
  video_hosted: [asset],
  video_vast: [either(vast, asset)],
  audio_hosted: [asset],
  audio_vast: [either(vast, asset)],
  audio_daast: [either(vast, asset)],
  sponsored_placement: [either(asset, text)],
  native_in_feed: [asset, text],
  responsive_creative: [asset, text],
  agent_placement: [either(message, text, webhook)],
  seller_rendered_stateful_display: [either(asset, text, message)],
  coordinated_placements: [asset],
  custom: [],
};
