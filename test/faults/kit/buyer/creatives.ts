import { creativeIdOf, creativeResource, type Creative } from '../../../../domain/creatives/resource.ts';
import { creativeStream } from '../../../../domain/creatives/creative.ts';
import { sellerStatuses } from '../../../../domain/creatives/seller-reviews.ts';
import { builtInSellers } from '../../../../domain/sellers/resource.ts';
import { derivedId } from '../../../../shared/aggregate/ids.ts';
import { FOREVER, picked, type ResultContext, type Command, type Data, type Reading } from '../command.ts';
import type { Random } from '../random.ts';
import {
  REFUSED_PROBABILITY,
  type Choice,
  type ClientState,
  type OwnCreative,
  type OwnCampaign,
} from './client-state.ts';

const library = (home: { readonly id: number }): string => `/api/v2/buyer/advertisers/${home.id}/creatives`;
const inCampaign = ({ id }: OwnCampaign): string => `/api/v2/buyer/campaigns/${id}/creatives`;

const one = ({ state }: ResultContext): unknown => creativeResource(state as Creative);
const streamOf = (own: ClientState, shownId: string): string =>
  creativeStream(own.customerId, creativeIdOf(shownId) ?? '');

const claims = { CreativeNameClaimed: [1, FOREVER], CreativeNameReleased: [0, FOREVER] } as const;
const releases = { CreativeNameReleased: [0, FOREVER] } as const;

/** Members of a creative that each of its events changes. */
const CHANGING = /^(?:revision|updatedAt)$/;

/** Reads the joined detail, which must show the last write. */
const reading = ({ workersSubmit }: ClientState, id: string, shown: Data): Reading => ({
  url: `/api/v2/buyer/creatives/${id}/detail`,
  shown:
    workersSubmit === true
      ? Object.fromEntries(Object.entries(shown).filter(([member]) => !CHANGING.test(member)))
      : shown,
});

const remember = (own: ClientState, data: Data, campaignId: string | undefined, isCopy = false): Reading => {
  const id = data['id'] as string;
  own.creatives.push({
    id,
    state: data['state'] as OwnCreative['state'],
    promoted: data['promoted'] as boolean,
    revision: 1,
    isCopy,
    campaignIds: new Set(campaignId === undefined ? [] : [campaignId]),
    reviews: new Map(),
  });
  return reading(own, id, picked(data, 'name', 'state', 'revision', 'updatedAt'));
};

/** @param campaign undefined: in the library */
export const createCreative = (
  own: ClientState,
  home: { readonly id: number },
  campaign: OwnCampaign | undefined,
  key: string,
): Command => ({
  kind: `create creative ${key}`,
  method: 'POST',
  url: `${campaign === undefined ? library(home) : inCampaign(campaign)}/create`,
  // A format without requirements: the creative is ready immediately.
  body: { name: key, formatKind: 'custom', message: key },
  sent: 'keyed',
  expected: 'ok',
  status: 201,
  event: 'CreativeCreated',
  ...(campaign === undefined ? {} : { otherEvents: { CreativeNameClaimed: [1, FOREVER] } }),
  stream: ({ id }) => streamOf(own, id as string),
  answer: one,
  done: (data) => remember(own, data, campaign?.id),
  lost: () => undefined,
});

export const commandOnCreative = (
  own: ClientState,
  home: { readonly id: number },
  target: OwnCreative,
  key: string,
  random: Random,
): Choice => {
  const open = own.campaigns.filter(({ phase }) => phase !== 'archived');
  const within = open.find(({ id }) => target.campaignIds.has(id));
  const without = target.isCopy ? undefined : open.find(({ id }) => !target.campaignIds.has(id));
  const on: OnCreative = { own, home, target, key, base: baseOf(own, target) };
  if (target.state === 'archived') return without === undefined ? promote(on) : attach(on, without);
  const sellers = own.workersSubmit === true ? [] : [1, 2, 3];
  const seller = sellers.find((sellerId) => !target.reviews.has(sellerId));
  const asked = [...target.reviews].find(([, status]) => status === 'processing')?.[0];
  const choices: (() => Choice)[] = [
    ...(within === undefined
      ? []
      : [
          () => update(on, within, { message: key }),
          () => update(on, within, { name: key }),
          () => duplicate(on, within),
          () => detach(on, within, random.chance(0.5)),
        ]),
    ...(without === undefined ? [] : [() => attach(on, without)]),
    ...(target.promoted ? [] : [() => promote(on)]),
    ...(seller === undefined ? [] : [() => submit(on, seller)]),
    ...(asked === undefined ? [] : [() => approve(on, asked)]),
    ...(random.chance(REFUSED_PROBABILITY * 4) ? [() => archive(on)] : []),
  ];
  return random.pick(choices.length === 0 ? [() => archive(on)] : choices)();
};

interface OnCreative {
  readonly own: ClientState;
  readonly home: { readonly id: number };
  readonly target: OwnCreative;
  readonly key: string;
  readonly base: ReturnType<typeof baseOf>;
}

const baseOf = (own: ClientState, target: OwnCreative) =>
  ({
    sent: 'keyed',
    expected: target.state === 'archived' ? 'refused' : 'ok',
    status: 200,
    stream: () => streamOf(own, target.id),
    answer: one,
    lost: () => void own.creatives.splice(own.creatives.indexOf(target), 1),
  }) satisfies Partial<Command>;

/** An empty answer means one more revision, with unknown content. */
const nextRevision = ({ own, target }: Pick<OnCreative, 'own' | 'target'>): Reading => {
  target.revision += 1;
  return reading(own, target.id, picked({ ...target }, 'state', 'revision', 'promoted'));
};

const changed = ({ own, target }: Pick<OnCreative, 'own' | 'target'>, data: Data): Reading => {
  target.state = data['state'] as OwnCreative['state'];
  target.promoted = data['promoted'] as boolean;
  target.revision = data['revision'] as number;
  return reading(own, target.id, picked(data, 'name', 'state', 'revision', 'updatedAt'));
};

const update = (
  { own, target, base }: OnCreative,
  within: OwnCampaign,
  body: { readonly name?: string; readonly message?: string },
): Choice => ({
  ...base,
  kind: `update creative ${target.id}`,
  method: 'PUT',
  url: `${inCampaign(within)}/${target.id}`,
  body: own.workersSubmit === true ? body : { ...body, expectedRevision: target.revision },
  event: 'CreativeUpdated',
  otherEvents: body.name === undefined ? {} : claims,
  done: (data) => {
    // With new content, every seller reviews again.
    if (body.message !== undefined) {
      for (const sellerId of target.reviews.keys()) target.reviews.set(sellerId, 'processing');
    }
    if (body.name !== undefined) target.isCopy = false;
    return changed({ own, target }, data);
  },
});

const duplicate = ({ own, target, base }: OnCreative, within: OwnCampaign): Choice => ({
  ...base,
  kind: `duplicate creative ${target.id}`,
  method: 'POST',
  url: `${inCampaign(within)}/${target.id}/duplicate`,
  status: 201,
  event: 'CreativeCreated',
  otherEvents: { CreativeNameClaimed: [1, FOREVER] },
  stream: ({ id }) => streamOf(own, id as string),
  done: (data) => remember(own, data, within.id, true),
  // A copy that may exist or not would reserve a name that another creative may need.
  mayBeLost: false,
});

/** @param isOnlyThat otherwise a creative without another place is archived */
const detach = (
  { own, home, target, base }: OnCreative,
  within: OwnCampaign,
  isOnlyThat: boolean,
): Choice => ({
  ...base,
  kind: `detach creative ${target.id}`,
  method: 'DELETE',
  url: isOnlyThat
    ? `${library(home)}/${target.id}/campaigns/${within.id}`
    : `${inCampaign(within)}/${target.id}`,
  status: 204,
  event: 'CreativeDetached',
  otherEvents: releases,
  done: () => {
    target.campaignIds.delete(within.id);
    if (!isOnlyThat && target.campaignIds.size === 0 && !target.promoted) target.state = 'archived';
    return nextRevision({ own, target });
  },
});

const attach = ({ own, home, target, base }: OnCreative, without: OwnCampaign): Choice => ({
  ...base,
  kind: `attach creative ${target.id}`,
  method: 'POST',
  url: `${library(home)}/${target.id}/campaigns`,
  body: { campaignId: without.id },
  event: 'CreativeAttached',
  otherEvents: claims,
  done: (data) => {
    target.campaignIds.add(without.id);
    return changed({ own, target }, data);
  },
});

const promote = ({ own, home, target, base }: OnCreative): Choice => ({
  ...base,
  kind: `promote creative ${target.id}`,
  method: 'POST',
  url: `${library(home)}/save-to-library`,
  body: { creativeIds: [target.id], role: 'evergreen' },
  event: 'CreativePromoted',
  causedBy: (commandId) => derivedId(commandId, creativeIdOf(target.id) ?? ''),
  answer: (after) => [one(after)],
  done: (data) => changed({ own, target }, (data['0'] ?? {}) as Data),
});

const submit = ({ own, target, base }: OnCreative, sellerId: number): Choice => ({
  ...base,
  kind: `submit creative ${target.id}`,
  method: 'POST',
  url: `/api/v2/buyer/creatives/${target.id}/submit`,
  body: { sellerIds: [sellerId] },
  expected: target.state === 'ready' ? 'ok' : 'refused',
  status: 202,
  event: 'CreativeSubmitted',
  otherEvents: { TaskAccepted: [1, 1] },
  answer: ({ state, commandId }) => ({
    sellerStatuses: statusesOf(state as Creative, sellerId),
    taskId: derivedId(commandId, 'task'),
  }),
  done: () => {
    target.reviews.set(sellerId, 'processing');
    return nextRevision({ own, target });
  },
});

const approve = ({ own, target, base }: OnCreative, sellerId: number): Choice => ({
  ...base,
  kind: `approve creative ${target.id}`,
  method: 'PUT',
  url: `/api/v2/buyer/creatives/${target.id}/sellers/${sellerId}/review`,
  body: { status: 'approved', expectedRevision: target.revision },
  event: 'CreativeReviewed',
  answer: ({ state }) => statusesOf(state as Creative, sellerId)[0],
  done: () => {
    target.reviews.set(sellerId, 'approved');
    return nextRevision({ own, target });
  },
});

const statusesOf = ({ reviews = [] }: Creative, sellerId: number) =>
  sellerStatuses(
    reviews.filter((review) => review.sellerId === sellerId),
    builtInSellers,
  );

const archive = ({ own, home, target, base }: OnCreative): Choice => ({
  ...base,
  kind: `archive creative ${target.id}`,
  method: 'DELETE',
  url: `${library(home)}/${target.id}`,
  status: 204,
  event: 'CreativeArchived',
  otherEvents: releases,
  done: () => {
    target.state = 'archived';
    return nextRevision({ own, target });
  },
});
