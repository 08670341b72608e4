import { accept, refuse, type Decider, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import type {
  AdvertiserChanges,
  AdvertiserCreated,
  AdvertiserEvent,
  RecordedCap,
} from './advertiser-events.ts';
import type { AdvertiserResource, FrequencyCap } from './advertiser-resource.ts';

/** The stream of one advertiser; the account is part of its name. */
export const advertiserStream = (customerId: number, advertiserId: number): string =>
  `advertiser-${customerId}-${advertiserId}`;

export interface NoAdvertiser {
  readonly status: 'NONE';
}
export type Advertiser = NoAdvertiser | AdvertiserResource;

export const initialState: Advertiser = { status: 'NONE' };

export const evolve = (state: Advertiser, event: AdvertiserEvent): Advertiser => {
  if (event.type === 'AdvertiserCreated') return created(event.data, event.occurredAt);
  if (state.status === 'NONE') return state;
  const updatedAt = event.occurredAt;
  switch (event.type) {
    case 'AdvertiserUpdated':
      return { ...withChanges(state, event.data.changes), updatedAt };
    case 'AdvertiserFrequencyCapsReplaced':
      return { ...state, frequencyCaps: replacedCaps(state, event.data.caps, updatedAt), updatedAt };
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

const created = (data: AdvertiserCreated, at: string): AdvertiserResource => ({
  id: data.advertiserId,
  customerId: data.customerId,
  name: data.name,
  ...(data.description === undefined ? {} : { description: data.description }),
  status: 'ACTIVE',
  sandbox: data.sandbox,
  primaryCurrency: data.primaryCurrency,
  currencyLocked: false,
  ...(data.brandDomain === undefined ? {} : { brandDomain: data.brandDomain }),
  ...(data.linkedBrand === undefined ? {} : { linkedBrand: data.linkedBrand }),
  brandCountries: data.brandCountries,
  ...(data.preferredTimezone === undefined ? {} : { preferredTimezone: data.preferredTimezone }),
  channels: data.channels,
  optimizationApplyMode: data.optimizationApplyMode,
  autonomy: data.autonomy,
  controls: data.controls,
  utmConfig: data.utmConfig,
  frequencyCaps: data.frequencyCaps.map((cap) => liveCap(cap, data.advertiserId, at)),
  labels: data.labels,
  createdAt: at,
  updatedAt: at,
});

const liveCap = (cap: RecordedCap, advertiserId: number, at: string): FrequencyCap => ({
  id: cap.id,
  targetLevel: 'ADVERTISER',
  targetId: String(advertiserId),
  max_impressions: cap.max_impressions,
  window: cap.window,
  createdAt: at,
  updatedAt: at,
});

const replacedCaps = (state: AdvertiserResource, caps: readonly RecordedCap[], at: string): FrequencyCap[] =>
  caps.map((cap) => state.frequencyCaps.find(({ id }) => id === cap.id) ?? liveCap(cap, state.id, at));

const withChanges = (state: AdvertiserResource, changes: AdvertiserChanges): AdvertiserResource => {
  const { description, preferredTimezone, ...values } = changes;
  const next: AdvertiserResource = { ...state };
  for (const [member, value] of Object.entries(values)) {
    if (value !== undefined) Object.assign(next, { [member]: value });
  }
  if (description === null) delete next.description;
  else if (description !== undefined) next.description = description;
  if (preferredTimezone === null) delete next.preferredTimezone;
  else if (preferredTimezone !== undefined) next.preferredTimezone = preferredTimezone;
  return next;
};

export interface CapInput {
  readonly max_impressions: number;
  readonly window: FrequencyCap['window'];
}

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

export type AdvertiserCommand =
  | CreateAdvertiser
  | UpdateAdvertiser
  | { readonly type: 'LockAdvertiserCurrency'; readonly now: string }
  | { readonly type: 'ArchiveAdvertiser'; readonly now: string }
  | { readonly type: 'RestoreAdvertiser'; readonly now: string };

export type AdvertiserRefusal =
  | { readonly reason: 'already-exists' }
  | { readonly reason: 'not-found' }
  | { readonly reason: 'not-archived' }
  | { readonly reason: 'archived' }
  | { readonly reason: 'currency-locked' }
  | { readonly reason: 'unchangeable'; readonly member: UnchangeableMember };

type AdvertiserDecision = Decision<AdvertiserEvent, AdvertiserRefusal>;

const create = (command: CreateAdvertiser, state: Advertiser): AdvertiserDecision => {
  if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
  const frequencyCaps = distinctCaps(command.frequencyCaps).map((cap, index) => ({
    id: command.newCapIds[index] ?? '',
    ...cap,
  }));
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
    command.frequencyCaps && capReplacement(command.frequencyCaps, command.newCapIds, state);
  if (replacement !== undefined) {
    events.push({ type: 'AdvertiserFrequencyCapsReplaced', data: replacement, occurredAt });
  }
  return accept(...events);
};

/** The members whose new value differs from the current one. */
const effectiveChanges = (command: UpdateAdvertiser, state: AdvertiserResource): AdvertiserChanges => {
  const wanted: AdvertiserChanges = {
    ...command.changes,
    autonomy: command.changes.autonomy && {
      inventorySelection: command.changes.autonomy.inventorySelection ?? state.autonomy.inventorySelection,
      rebriefing: command.changes.autonomy.rebriefing ?? state.autonomy.rebriefing,
    },
  };
  const differs = ([member, value]: [string, unknown]): boolean =>
    value !== undefined && !equalJson(value ?? undefined, state[member as keyof AdvertiserResource]);
  return Object.fromEntries(Object.entries(wanted).filter(differs));
};

const sameCap = (a: CapInput, b: CapInput): boolean =>
  a.max_impressions === b.max_impressions && equalJson(a.window, b.window);

const distinctCaps = (caps: readonly CapInput[]): readonly CapInput[] =>
  caps.filter((cap, index) => caps.findIndex((other) => sameCap(cap, other)) === index);

/** A cap equal to a live one stays that cap; undefined when the set is what it was (decisions.md E3). */
const capReplacement = (
  wanted: readonly CapInput[],
  newCapIds: readonly string[],
  state: AdvertiserResource,
): { caps: RecordedCap[]; archivedCapIds: string[] } | undefined => {
  const caps = distinctCaps(wanted).map(({ max_impressions, window }, index) => {
    const kept = state.frequencyCaps.find((live) => sameCap(live, { max_impressions, window }));
    return { id: kept?.id ?? newCapIds[index] ?? '', max_impressions, window };
  });
  const ids = caps.map(({ id }) => id);
  const liveIds = state.frequencyCaps.map(({ id }) => id);
  if (equalJson(ids, liveIds)) return undefined;
  return { caps, archivedCapIds: liveIds.filter((id) => !ids.includes(id)) };
};

const lockCurrency = (now: string, state: Advertiser): AdvertiserDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return refuse({ reason: 'archived' });
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
      return lockCurrency(command.now, state);
    case 'ArchiveAdvertiser':
      return archive(command.now, state);
    case 'RestoreAdvertiser':
      return restore(command.now, state);
    default:
      return command satisfies never;
  }
};

export const advertiserDecider: Decider<Advertiser, AdvertiserCommand, AdvertiserEvent, AdvertiserRefusal> = {
  initialState,
  evolve,
  decide,
};
