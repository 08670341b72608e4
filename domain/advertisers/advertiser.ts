import { accept, refuse, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import { membersOf } from '../fields.ts';
import {
  advertiserEvents,
  type AdvertiserChanges,
  type AdvertiserCreated,
  type AdvertiserEvent,
} from './advertiser-events.ts';
import type { FrequencyCap, RecordedCap } from '../frequency-caps/frequency-cap-resource.ts';
import { capReplacement, capsOf, replacedCaps, type CapInput } from '../frequency-caps/frequency-caps.ts';
import { AdvertiserResource } from './advertiser-resource.ts';

/** Category of the streams: their names begin with it. */
export const ADVERTISER = 'advertiser';

/** The stream of one advertiser; the account is part of its name. */
export const advertiserStream = (customerId: number, advertiserId: number): string =>
  `${ADVERTISER}-${customerId}-${advertiserId}`;

export const initialState = { status: 'NONE' } as const;
export type Advertiser = typeof initialState | AdvertiserResource;

export const evolve = (state: Advertiser, event: AdvertiserEvent): Advertiser => {
  if (event.type === 'AdvertiserCreated') return created(event.data, event.occurredAt);
  if (state.status === 'NONE') return state;
  const updatedAt = event.occurredAt;
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
  membersOf(AdvertiserResource, {
    ...data,
    id: data.advertiserId,
    status: 'ACTIVE',
    currencyLocked: false,
    frequencyCaps: capsAfter({ id: data.advertiserId, frequencyCaps: [] }, data.frequencyCaps, at),
    createdAt: at,
    updatedAt: at,
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
  /** One unused id for each cap. */
  readonly newCapIds: readonly string[];
}

export interface UpdateAdvertiser {
  readonly type: 'UpdateAdvertiser';
  readonly now: string;
  readonly changes: Omit<AdvertiserChanges, 'autonomy'> & {
    readonly autonomy?:
      { inventorySelection?: string | undefined; rebriefing?: string | undefined } | undefined;
  };
  /** Replaces the whole set; absent leaves it. */
  readonly frequencyCaps?: readonly CapInput[] | undefined;
  readonly newCapIds: readonly string[];
  /** Members that may be repeated in a request but never changed (decisions.md 1.1, row 4). */
  readonly unchangeable: Readonly<Partial<Pick<AdvertiserResource, UnchangeableMember>>>;
}

export type UnchangeableMember = 'id' | 'customerId' | 'status' | 'sandbox';

/** Given before the advertiser's first campaign is created: from then on its currency stays what it is. */
export interface LockAdvertiserCurrency {
  readonly type: 'LockAdvertiserCurrency';
  readonly now: string;
  /** What it must be, as far as the caller minds. */
  readonly currency?: string | undefined;
}

export type AdvertiserCommand =
  | CreateAdvertiser
  | UpdateAdvertiser
  | LockAdvertiserCurrency
  | { readonly type: 'ArchiveAdvertiser'; readonly now: string }
  | { readonly type: 'RestoreAdvertiser'; readonly now: string };

export type AdvertiserRefusal =
  | { readonly reason: 'already-exists' }
  | { readonly reason: 'not-found' }
  | { readonly reason: 'not-archived' }
  | { readonly reason: 'archived' }
  | { readonly reason: 'currency-locked' }
  | { readonly reason: 'other-currency'; readonly currency: string }
  | { readonly reason: 'unchangeable'; readonly member: UnchangeableMember };

type AdvertiserDecision = Decision<AdvertiserEvent, AdvertiserRefusal>;

const create = (command: CreateAdvertiser, state: Advertiser): AdvertiserDecision => {
  if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
  const frequencyCaps = capsOf(command.frequencyCaps, command.newCapIds, []);
  const { advertiserId, customerId, details } = command;
  return accept({
    type: 'AdvertiserCreated',
    data: { advertiserId, customerId, ...details, frequencyCaps },
    occurredAt: command.now,
  });
};

const update = (command: UpdateAdvertiser, state: Advertiser): AdvertiserDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return refuse({ reason: 'archived' });
  for (const member of ['id', 'customerId', 'status', 'sandbox'] as const) {
    const wanted = command.unchangeable[member];
    if (wanted !== undefined && wanted !== state[member]) return refuse({ reason: 'unchangeable', member });
  }
  const changes = effectiveChanges(command, state);
  if (changes.primaryCurrency !== undefined && state.currencyLocked) {
    return refuse({ reason: 'currency-locked' });
  }
  const occurredAt = command.now;
  const events: AdvertiserEvent[] = [];
  if (Object.keys(changes).length > 0) {
    events.push({ type: 'AdvertiserUpdated', data: { changes }, occurredAt });
  }
  const replacement =
    command.frequencyCaps && capReplacement(command.frequencyCaps, command.newCapIds, state.frequencyCaps);
  if (replacement !== undefined) {
    events.push({ type: 'AdvertiserFrequencyCapsReplaced', data: replacement, occurredAt });
  }
  return accept(...events);
};

/**
 * The members whose new value differs from the current one. To name the brand that is linked already changes nothing:
 * what was found of it stays.
 */
const effectiveChanges = (command: UpdateAdvertiser, state: AdvertiserResource): AdvertiserChanges => {
  const { brandDomain, linkedBrand, ...changes } = command.changes;
  const wanted: AdvertiserChanges = {
    ...changes,
    ...(brandDomain === state.brandDomain ? {} : { brandDomain, linkedBrand }),
    autonomy: command.changes.autonomy && {
      inventorySelection: command.changes.autonomy.inventorySelection ?? state.autonomy.inventorySelection,
      rebriefing: command.changes.autonomy.rebriefing ?? state.autonomy.rebriefing,
    },
  };
  const differs = ([member, value]: [string, unknown]): boolean =>
    value !== undefined && !equalJson(value ?? undefined, state[member as keyof AdvertiserResource]);
  return Object.fromEntries(Object.entries(wanted).filter(differs));
};

const lockCurrency = ({ now, currency }: LockAdvertiserCurrency, state: Advertiser): AdvertiserDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return refuse({ reason: 'archived' });
  if (currency !== undefined && currency !== state.primaryCurrency) {
    return refuse({ reason: 'other-currency', currency: state.primaryCurrency });
  }
  if (state.currencyLocked) return accept();
  return accept({ type: 'AdvertiserCurrencyLocked', data: {}, occurredAt: now });
};

const archive = (now: string, state: Advertiser): AdvertiserDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return accept();
  return accept({ type: 'AdvertiserArchived', data: {}, occurredAt: now });
};

/** Absent and already active are the same to the caller: no archived advertiser here (decisions.md section 3). */
const restore = (now: string, state: Advertiser): AdvertiserDecision => {
  if (state.status !== 'ARCHIVED') return refuse({ reason: 'not-archived' });
  return accept({ type: 'AdvertiserRestored', data: {}, occurredAt: now });
};

const decide = (command: AdvertiserCommand, state: Advertiser): AdvertiserDecision => {
  switch (command.type) {
    case 'CreateAdvertiser':
      return create(command, state);
    case 'UpdateAdvertiser':
      return update(command, state);
    case 'LockAdvertiserCurrency':
      return lockCurrency(command, state);
    case 'ArchiveAdvertiser':
      return archive(command.now, state);
    case 'RestoreAdvertiser':
      return restore(command.now, state);
    default:
      return command satisfies never;
  }
};

export const advertiserAggregate = {
  category: ADVERTISER,
  stream: advertiserStream,
  events: advertiserEvents,
  initialState,
  evolve,
  decide,
};
