import type { CreativeContent } from './resource.ts';

export const isComplete = (content: CreativeContent): boolean => needed[content.formatKind](content);

type Rule = (content: CreativeContent) => boolean;

const hasAsset: Rule = ({ slots }) =>
  slots.some(({ kind, assetId }) => kind === 'asset' && assetId !== undefined);
const hasText: Rule = ({ slots, copy }) =>
  Object.values(copy).some((text) => text !== '') ||
  slots.some(({ kind, value }) => kind === 'text' && value !== undefined && value !== '');
const hasVast: Rule = ({ urlAsset }) => urlAsset?.urlType === 'vast';
const hasTag: Rule = (content) => hasText(content) || content.urlAsset?.urlType === 'tracker_script';
const hasMessage: Rule = ({ message }) => message !== undefined && message !== '';
const hasCards: Rule = ({ carouselCards }) =>
  carouselCards.length >= 2 && carouselCards.every(({ assetId }) => assetId !== undefined);
const isFilled: Rule = ({ slots }) =>
  slots.every(({ kind, assetId, value }) => (kind === 'asset' ? assetId : value) !== undefined);

const both =
  (...rules: readonly Rule[]): Rule =>
  (content) =>
    rules.every((rule) => rule(content));
const either =
  (...rules: readonly Rule[]): Rule =>
  (content) =>
    rules.some((rule) => rule(content));

/** For formats without required slots, all present slots must be filled. */
const needed: Readonly<Record<CreativeContent['formatKind'], Rule>> = {
  image: both(hasAsset, isFilled),
  html5: both(hasAsset, isFilled),
  display_tag: both(either(hasTag, hasAsset), isFilled),
  image_carousel: both(hasCards, isFilled),
  video_hosted: both(hasAsset, isFilled),
  video_vast: both(either(hasVast, hasAsset), isFilled),
  audio_hosted: both(hasAsset, isFilled),
  audio_vast: both(either(hasVast, hasAsset), isFilled),
  audio_daast: both(either(hasVast, hasAsset), isFilled),
  sponsored_placement: both(either(hasAsset, hasText), isFilled),
  native_in_feed: both(hasAsset, hasText, isFilled),
  responsive_creative: both(hasAsset, hasText, isFilled),
  agent_placement: both(
    either(hasMessage, hasText, ({ webhookAsset }) => webhookAsset !== undefined),
    isFilled,
  ),
  seller_rendered_stateful_display: both(either(hasAsset, hasText, hasMessage), isFilled),
  coordinated_placements: both(hasAsset, isFilled),
  custom: isFilled,
};
