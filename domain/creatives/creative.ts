import { accept, refuse, type Decision } from '../decision.ts';
import { changedMembers, contradiction, membersOf, withChanges } from '../fields.ts';
import { capReplacement, capsOf, replacedCaps, type CapInput } from '../frequency-caps/frequency-caps.ts';
import type { FrequencyCap, RecordedCap } from '../frequency-caps/resource.ts';
import type { OtherCauses } from '../causation.ts';
import { creativeEvents, type CreativeChanges, type CreativeCreated, type CreativeEvent } from './events.ts';
import { CreativeContent, shownCreativeId, type Creative } from './resource.ts';
import { isComplete, missingOf } from './is-complete.ts';
import {
  putAway,
  reviewed,
  reviewSteps,
  submittable,
  submitted,
  withNewContent,
  type ReviewStatus,
} from './seller-reviews.ts';

export const CREATIVE = 'creative';

export const creativeStream = (customerId: number, creativeId: string): string =>
  `${CREATIVE}-${customerId}-${creativeId}`;

export type CreativeStateOf = { readonly state: 'none' } | Creative;

const initialState = { state: 'none' } as const;

/** A bound, because a rename is one step in each campaign. */
const CAMPAIGNS_MAX = 50;

const evolve = (before: CreativeStateOf, event: CreativeEvent): CreativeStateOf => {
  const at = event.occurredAt;
  if (event.type === 'CreativeCreated') return created(event.data, at);
  if (before.state === 'none') return before;
  const next = { ...before, revision: before.revision + 1, updatedAt: at };
  switch (event.type) {
    case 'CreativeUpdated': {
      const caps = event.data.frequencyCaps?.caps;
      const { changes } = event.data;
      const reviews = touchesContent(changes)
        ? before.reviews && withNewContent(before.reviews, next.revision, at)
        : before.reviews;
      const changed = { ...withChanges(next, changes), reviews };
      return caps === undefined ? changed : { ...changed, frequencyCaps: capsAfter(before, caps, at) };
    }
    case 'CreativeAttached':
      return { ...next, campaignIds: [...before.campaignIds, event.data.campaignId] };
    case 'CreativeDetached':
      return {
        ...(event.data.archives ? archived(next, at) : next),
        campaignIds: before.campaignIds.filter((id) => id !== event.data.campaignId),
      };
    case 'CreativePromoted':
      return { ...next, promoted: true, role: event.data.role };
    case 'CreativeArchived':
      return archived(next, at);
    case 'CreativeSubmitted':
      return {
        ...next,
        reviews: submitted(before.reviews ?? [], event.data.sellerIds, next.revision, at),
      };
    case 'CreativeReviewed':
      return { ...next, reviews: reviewed(before.reviews ?? [], event.data, at) };
    default:
      return (event satisfies never, before);
  }
};

const created = (
  { content, campaignId, frequencyCaps, copyOf: _source, ...identity }: CreativeCreated,
  at: string,
): Creative => ({
  ...identity,
  ...content,
  campaignIds: campaignId === undefined ? [] : [campaignId],
  frequencyCaps: capsAfter({ creativeId: identity.creativeId, frequencyCaps: [] }, frequencyCaps, at),
  revision: 1,
  createdAt: at,
  updatedAt: at,
});

const archived = (creative: Creative, at: string): Creative => ({
  ...creative,
  state: 'archived',
  reviews: creative.reviews && putAway(creative.reviews, at),
});

const capsAfter = (
  { creativeId, frequencyCaps }: Pick<Creative, 'creativeId' | 'frequencyCaps'>,
  caps: readonly RecordedCap[],
  at: string,
): FrequencyCap[] =>
  replacedCaps(frequencyCaps, caps, { targetLevel: 'CREATIVE', targetId: shownCreativeId(creativeId) }, at);

/** Sellers do not see these four members. */
const touchesContent = (changes: CreativeChanges): boolean =>
  Object.keys(changes).some((member) => !['name', 'role', 'promoted', 'state'].includes(member));

/** An archived advertiser refuses every change. */
interface BelowAdvertiser {
  readonly now: string;
  readonly advertiserIsArchived: boolean;
}

export interface CreateCreative {
  readonly type: 'CreateCreative';
  readonly now: string;
  readonly creative: Omit<CreativeCreated, 'state' | 'promoted' | 'frequencyCaps'>;
  readonly frequencyCaps: readonly CapInput[];
  readonly newCapIds: readonly string[];
}

export type UnchangeableMember = 'id' | 'advertiserId' | 'state';

export interface UpdateCreative extends BelowAdvertiser {
  readonly type: 'UpdateCreative';
  readonly changes: Omit<CreativeChanges, 'state' | 'promoted'>;
  readonly frequencyCaps?: readonly CapInput[] | undefined;
  readonly newCapIds: readonly string[];
  readonly expectedRevision?: number | undefined;
  readonly unchangeable: Readonly<Partial<Record<UnchangeableMember, string | number | undefined>>>;
  /** The creative's revision when its campaigns reserved the name; undefined if they did not. */
  readonly nameHeldAt: number | undefined;
}

export interface AttachCreative extends BelowAdvertiser {
  readonly type: 'AttachCreative';
  readonly campaignId: string;
  /** The creative's revision when the campaign reserved its name; undefined if it did not. */
  readonly nameHeldAt: number | undefined;
}

export interface SubmitCreative extends BelowAdvertiser {
  readonly type: 'SubmitCreative';
  readonly sellerIds: readonly number[];
  /** Skips sellers with an earlier submission, in any status. */
  readonly onlyNew: boolean;
  readonly alsoCausedBy?: OtherCauses;
}

export interface ReviewCreative extends BelowAdvertiser {
  readonly type: 'ReviewCreative';
  readonly sellerId: number;
  readonly status: ReviewStatus;
  readonly rejectionReason?: string | undefined;
  /** The seller reviewed it. Its content must be the current one; other members may have changed. */
  readonly expectedRevision: number;
}

export type CreativeCommand =
  | CreateCreative
  | UpdateCreative
  | AttachCreative
  | SubmitCreative
  | ReviewCreative
  | (BelowAdvertiser & {
      readonly type: 'DetachCreative';
      readonly campaignId: string;
      /** Archives the creative if it is in no other campaign and not promoted. */
      readonly archivesLast: boolean;
    })
  | (BelowAdvertiser & { readonly type: 'PromoteCreative'; readonly role: 'evergreen' | 'reference' })
  | (BelowAdvertiser & { readonly type: 'ArchiveCreative' });

export type CreativeRefusal =
  | {
      readonly reason:
        | 'not-found'
        | 'not-in-campaign'
        | 'already-exists'
        | 'archived'
        | 'advertiser-archived'
        | 'not-submitted';
    }
  /** `missing` is empty for a complete copy whose content has not changed yet. */
  | { readonly reason: 'not-ready'; readonly missing: readonly string[] }
  | { readonly reason: 'too-many-campaigns'; readonly limit: number }
  /** Not reserved, or the creative changed after the reservation: that change may release the name. */
  | { readonly reason: 'name-not-held' }
  | { readonly reason: 'stale'; readonly expectedRevision: number; readonly currentRevision: number }
  | { readonly reason: 'unchangeable'; readonly member: UnchangeableMember }
  | {
      readonly reason: 'wrong-review';
      readonly status: ReviewStatus;
      readonly wanted: readonly ReviewStatus[];
    };

type CreativeDecision = Decision<CreativeEvent, CreativeRefusal>;

const create = (command: CreateCreative, before: CreativeStateOf): CreativeDecision => {
  if (before.state !== 'none') return refuse({ reason: 'already-exists' });
  const { creative, frequencyCaps, newCapIds, now } = command;
  const isCopy = creative.copyOf !== undefined;
  return accept({
    type: 'CreativeCreated',
    data: {
      ...creative,
      // A copy is always a draft and not promoted.
      state: !isCopy && isComplete(creative.content) ? 'ready' : 'draft',
      promoted: !isCopy && creative.role !== undefined,
      frequencyCaps: capsOf(frequencyCaps, newCapIds, []),
    },
    occurredAt: now,
  });
};

const update = (command: UpdateCreative, before: Creative): CreativeDecision => {
  const { unchangeable, expectedRevision, nameHeldAt, now } = command;
  const shown = { ...before, id: shownCreativeId(before.creativeId) };
  const member = contradiction(unchangeable, shown);
  if (member !== undefined) return refuse({ reason: 'unchangeable', member });
  if (expectedRevision !== undefined && expectedRevision !== before.revision) {
    return refuse({ reason: 'stale', expectedRevision, currentRevision: before.revision });
  }
  const changes = effectiveChanges(command.changes, before);
  const frequencyCaps =
    command.frequencyCaps && capReplacement(command.frequencyCaps, command.newCapIds, before.frequencyCaps);
  if (Object.keys(changes).length === 0 && frequencyCaps === undefined) return accept();
  const needsName = changes.name !== undefined && before.campaignIds.length > 0;
  if (needsName && nameHeldAt !== before.revision) return refuse({ reason: 'name-not-held' });
  const data = { changes, ...(frequencyCaps === undefined ? {} : { frequencyCaps }) };
  return accept({ type: 'CreativeUpdated', data, occurredAt: now });
};

const effectiveChanges = (wanted: UpdateCreative['changes'], before: Creative): CreativeChanges => {
  const changes: CreativeChanges = changedMembers(wanted, before);
  if (changes.role !== undefined) changes.promoted = changes.role !== null;
  const state = isComplete(withChanges(before, changes)) ? 'ready' : 'draft';
  if (touchesContent(changes) && state !== before.state) changes.state = state;
  return changes;
};

const attach = ({ campaignId, nameHeldAt, now }: AttachCreative, before: Creative): CreativeDecision => {
  if (before.campaignIds.includes(campaignId)) return accept();
  if (before.campaignIds.length >= CAMPAIGNS_MAX) {
    return refuse({ reason: 'too-many-campaigns', limit: CAMPAIGNS_MAX });
  }
  if (nameHeldAt !== before.revision) return refuse({ reason: 'name-not-held' });
  return accept({ type: 'CreativeAttached', data: { campaignId }, occurredAt: now });
};

const submit = (
  { sellerIds, onlyNew, alsoCausedBy = [], now }: SubmitCreative,
  before: Creative,
): CreativeDecision => {
  const wanted = submittable(before.reviews ?? [], sellerIds, { onlyNew });
  if (wanted.length === 0) return accept();
  if (before.state !== 'ready') return refuse({ reason: 'not-ready', missing: missingOf(before) });
  const data = { sellerIds: [...wanted], ...(alsoCausedBy.length === 0 ? {} : { alsoCausedBy }) };
  return accept({ type: 'CreativeSubmitted', data, occurredAt: now });
};

const review = (command: ReviewCreative, before: Creative): CreativeDecision => {
  const { sellerId, status, rejectionReason, expectedRevision, now } = command;
  const current = before.reviews?.find((one) => one.sellerId === sellerId);
  if (current === undefined) return refuse({ reason: 'not-submitted' });
  if (expectedRevision < current.since || expectedRevision > before.revision) {
    return refuse({ reason: 'stale', expectedRevision, currentRevision: before.revision });
  }
  if (status === current.status && rejectionReason === current.rejectionReason) return accept();
  const wanted = reviewSteps[current.status];
  if (status !== current.status && !wanted.includes(status)) {
    return refuse({ reason: 'wrong-review', status: current.status, wanted });
  }
  if (status === 'approved' && before.state !== 'ready')
    return refuse({ reason: 'not-ready', missing: missingOf(before) });
  const reason = rejectionReason === undefined ? {} : { rejectionReason };
  const data = { sellerId, status, ...reason, takenOn: expectedRevision };
  return accept({ type: 'CreativeReviewed', data, occurredAt: now });
};

const decide = (command: CreativeCommand, before: CreativeStateOf): CreativeDecision => {
  if (command.type === 'CreateCreative') return create(command, before);
  if (before.state === 'none') return refuse({ reason: 'not-found' });
  if (command.advertiserIsArchived) return refuse({ reason: 'advertiser-archived' });
  const occurredAt = command.now;
  if (command.type === 'ArchiveCreative') {
    return before.state === 'archived'
      ? accept()
      : accept({ type: 'CreativeArchived', data: {}, occurredAt });
  }
  if (command.type === 'DetachCreative') {
    const { campaignId } = command;
    if (!before.campaignIds.includes(campaignId)) return refuse({ reason: 'not-in-campaign' });
    const isLast = before.campaignIds.length === 1 && !before.promoted && before.state !== 'archived';
    const data = { campaignId, archives: command.archivesLast && isLast };
    return accept({ type: 'CreativeDetached', data, occurredAt });
  }
  if (before.state === 'archived') return refuse({ reason: 'archived' });
  switch (command.type) {
    case 'UpdateCreative':
      return update(command, before);
    case 'AttachCreative':
      return attach(command, before);
    case 'SubmitCreative':
      return submit(command, before);
    case 'ReviewCreative':
      return review(command, before);
    case 'PromoteCreative':
      return before.promoted && before.role === command.role
        ? accept()
        : accept({ type: 'CreativePromoted', data: { role: command.role }, occurredAt });
    default:
      return command satisfies never;
  }
};

export const creativeFold = {
  category: CREATIVE,
  stream: creativeStream,
  events: creativeEvents,
  foldVersion: 2,
  initialState,
  evolve,
};
export const creativeAggregate = { ...creativeFold, decide };

export const contentOf = (creative: Creative): CreativeContent => membersOf(CreativeContent, creative);
