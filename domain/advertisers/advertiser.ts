import { accept, refuse, type Decision } from '../decision.ts';
import { changedMembers, contradiction, membersOf } from '../fields.ts';
import type { FrequencyCap, RecordedCap } from '../frequency-caps/resource.ts';
import { capReplacement, capsOf, replacedCaps, type CapInput } from '../frequency-caps/frequency-caps.ts';
import {
  advertiserEvents,
  type AdvertiserChanges,
  type AdvertiserCreated,
  type AdvertiserEvent,
} from './events.ts';
import { AdvertiserResource } from './resource.ts';

export const ADVERTISER = 'advertiser';

export const advertiserStream = (customerId: number, advertiserId: number): string =>
  `${ADVERTISER}-${customerId}-${advertiserId}`;

export const initialState = { status: 'NONE' } as const;
export type Advertiser = typeof initialState | AdvertiserResource;

export const evolve = (state: Advertiser, event: AdvertiserEvent): Advertiser => {
  const updatedAt = event.occurredAt;
  if (event.type === 'AdvertiserCreated') return created(event.data, updatedAt);
  if (state.status === 'NONE') return state;
  switch (event.type) {
    case 'AdvertiserUpdated':
      return membersOf(AdvertiserResource, { ...state, ...event.data.changes, updatedAt });
    case 'AdvertiserFrequencyCapsReplaced':
      return { ...state, frequencyCaps: capsAfter(state, event.data.caps, updatedAt), updatedAt };
    case 'AdvertiserCurrencyLocked':
      return { ...state, currencyLocked: true, updatedAt };
    case 'AdvertiserArchived':
      return { ...state, status: 'ARCHIVED', updatedAt };
    case 'AdvertiserRestored':
      return { ...state, status: 'ACTIVE', updatedAt };
    default:
      return (event satisfies never, state);
  }
};

const created = (data: AdvertiserCreated, at: string): AdvertiserResource =>
  // Members that follow a spread are added one by one, which takes ten times as long (`membersOf` sets the order).
  membersOf(AdvertiserResource, {
    id: data.advertiserId,
    status: 'ACTIVE',
    currencyLocked: false,
    createdAt: at,
    updatedAt: at,
    ...data,
    frequencyCaps: capsAfter({ id: data.advertiserId, frequencyCaps: [] }, data.frequencyCaps, at),
  });

const capsAfter = (
  { id, frequencyCaps }: Pick<AdvertiserResource, 'id' | 'frequencyCaps'>,
  caps: readonly RecordedCap[],
  at: string,
): FrequencyCap[] =>
  replacedCaps(frequencyCaps, caps, { targetLevel: 'ADVERTISER', targetId: String(id) }, at);

export interface CreateAdvertiser {
  readonly type: 'CreateAdvertiser';
  readonly now: string;
  readonly advertiserId: number;
  readonly customerId: number;
  readonly details: Omit<AdvertiserCreated, 'advertiserId' | 'customerId' | 'frequencyCaps'>;
  readonly frequencyCaps: readonly CapInput[];
  readonly newCapIds: readonly string[];
}

export interface UpdateAdvertiser {
  readonly type: 'UpdateAdvertiser';
  readonly now: string;
  readonly changes: Omit<AdvertiserChanges, 'autonomy'> & {
    /** Members that are left out stay. */
    readonly autonomy?: Partial<AdvertiserResource['autonomy']> | undefined;
  };
  /** Replaces the whole set; absent leaves it. */
  readonly frequencyCaps?: readonly CapInput[] | undefined;
  readonly newCapIds: readonly string[];
  readonly unchangeable: { readonly [M in UnchangeableMember]?: AdvertiserResource[M] | undefined };
}

export type UnchangeableMember = 'id' | 'customerId' | 'status' | 'sandbox';

export type AdvertiserCommand =
  | CreateAdvertiser
  | UpdateAdvertiser
  /** Comes before the first campaign. Refused if the advertiser has another currency. */
  | { readonly type: 'LockAdvertiserCurrency'; readonly now: string; readonly currency?: string | undefined }
  | { readonly type: 'ArchiveAdvertiser'; readonly now: string }
  | { readonly type: 'RestoreAdvertiser'; readonly now: string };

export type AdvertiserRefusal =
  | { readonly reason: 'already-exists' | 'not-found' | 'not-archived' | 'archived' | 'currency-locked' }
  | { readonly reason: 'other-currency'; readonly currency: string }
  | { readonly reason: 'unchangeable'; readonly member: UnchangeableMember };

type AdvertiserDecision = Decision<AdvertiserEvent, AdvertiserRefusal>;

const create = (command: CreateAdvertiser, state: Advertiser): AdvertiserDecision => {
  if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
  const { advertiserId, customerId, details, now } = command;
  const frequencyCaps = capsOf(command.frequencyCaps, command.newCapIds, []);
  const data = { advertiserId, customerId, ...details, frequencyCaps };
  return accept({ type: 'AdvertiserCreated', data, occurredAt: now });
};

const update = (command: UpdateAdvertiser, state: AdvertiserResource): AdvertiserDecision => {
  const member = contradiction(command.unchangeable, state);
  if (member !== undefined) return refuse({ reason: 'unchangeable', member });
  const changes = effectiveChanges(command.changes, state);
  if (changes.primaryCurrency !== undefined && state.currencyLocked) {
    return refuse({ reason: 'currency-locked' });
  }
  const { frequencyCaps, newCapIds, now: occurredAt } = command;
  const replacement = frequencyCaps && capReplacement(frequencyCaps, newCapIds, state.frequencyCaps);
  const events: AdvertiserEvent[] = [];
  if (Object.keys(changes).length > 0) {
    events.push({ type: 'AdvertiserUpdated', data: { changes }, occurredAt });
  }
  if (replacement !== undefined) {
    events.push({ type: 'AdvertiserFrequencyCapsReplaced', data: replacement, occurredAt });
  }
  return accept(...events);
};

/** Naming the linked brand again changes nothing: its found data stays. */
const effectiveChanges = (
  { autonomy, ...changes }: UpdateAdvertiser['changes'],
  state: AdvertiserResource,
): AdvertiserChanges => {
  const wanted = { ...changes, autonomy: autonomy && { ...state.autonomy, ...autonomy } };
  const isLinked = changes.brandDomain === state.brandDomain;
  return changedMembers(isLinked ? { ...wanted, linkedBrand: undefined } : wanted, state);
};

const lockCurrency = (
  wanted: string | undefined,
  occurredAt: string,
  { primaryCurrency: currency, currencyLocked }: AdvertiserResource,
): AdvertiserDecision => {
  if (wanted !== undefined && wanted !== currency) return refuse({ reason: 'other-currency', currency });
  if (currencyLocked) return accept();
  return accept({ type: 'AdvertiserCurrencyLocked', data: {}, occurredAt });
};

const decide = (command: AdvertiserCommand, state: Advertiser): AdvertiserDecision => {
  const occurredAt = command.now;
  switch (command.type) {
    case 'CreateAdvertiser':
      return create(command, state);
    case 'UpdateAdvertiser':
      return ofActive(state, (active) => update(command, active));
    case 'LockAdvertiserCurrency':
      return ofActive(state, (active) => lockCurrency(command.currency, occurredAt, active));
    case 'ArchiveAdvertiser':
      if (state.status === 'NONE') return refuse({ reason: 'not-found' });
      if (state.status === 'ARCHIVED') return accept();
      return accept({ type: 'AdvertiserArchived', data: {}, occurredAt });
    case 'RestoreAdvertiser':
      // Absent and already active are the same to the caller.
      if (state.status !== 'ARCHIVED') return refuse({ reason: 'not-archived' });
      return accept({ type: 'AdvertiserRestored', data: {}, occurredAt });
    default:
      return command satisfies never;
  }
};

const ofActive = (
  state: Advertiser,
  decideOn: (active: AdvertiserResource) => AdvertiserDecision,
): AdvertiserDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return refuse({ reason: 'archived' });
  return decideOn(state);
};

export const advertiserFold = {
  category: ADVERTISER,
  stream: advertiserStream,
  events: advertiserEvents,
  initialState,
  evolve,
};
export const advertiserAggregate = { ...advertiserFold, decide };
