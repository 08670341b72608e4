import { advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { AUDIENCE } from '../../../domain/audiences/audience.ts';
import { CATALOG } from '../../../domain/catalogs/catalog.ts';
import { EVENT_SOURCE } from '../../../domain/event-sources/event-source.ts';
import { isSyndicatedChange } from '../../../domain/syndication/events.ts';
import type { JsonMembers, SubmittedCall } from '../../../domain/syndication/resource.ts';
import {
  syndicationStream,
  type SyndicationCommand,
  type SyndicationRecord,
} from '../../../domain/syndication/syndication.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { EventStore, ExpectedRevision, RecordedEvent } from '../../../shared/event-store/event-store.ts';
import { derivedId, resourceIdOf } from '../../../shared/aggregate/ids.ts';
import { causesSince, lastCorrelation, lastOf, otherCausesSince, type Occasions } from '../causes-since.ts';
import { syndicationHandler } from '../../syndication/handler.ts';

interface StepStores {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly pause?: (ms: number) => Promise<void>;
}

/** Each step of a generation is one command with a fixed id, so running it twice appends once. */

/** A record with the revision of its stream, so that the next step need not read it again. */
export interface RecordAt {
  readonly record: SyndicationRecord;
  readonly revision: ExpectedRevision | undefined;
  readonly correlationId: string | undefined;
}

interface OfRequest {
  readonly record: SyndicationRecord;
  readonly correlationId?: string | undefined;
}

export const loadRecord = async (
  { store }: Pick<StepStores, 'store'>,
  { customerId, recordId }: Pick<SyndicationRecord, 'customerId' | 'recordId'>,
): Promise<RecordAt | undefined> => {
  const { state, revision, correlationId } = await syndicationHandler.loadAt({ store }, customerId, recordId);
  if (state.status === 'NONE') return undefined;
  // The last event may belong to a call of an earlier generation, and so to its request.
  const isOfEarlier = state.submitted !== undefined && state.submitted.generation < state.generation;
  const own = isOfEarlier ? await beginningOf(store, syndicationStream(customerId, recordId)) : undefined;
  return { record: state, revision, correlationId: own?.metadata.correlationId ?? correlationId };
};

/** Undefined when it is not among the newest events. */
const beginningOf = (store: EventStore, stream: string): Promise<RecordedEvent | undefined> =>
  lastOf(store, stream, ['SyndicationToggled', 'SyndicationRefreshed']);

/** True when the record was not switched since: later generations are refreshes, perhaps unlisted. */
export const isSameSwitchOn = async (
  { store }: Pick<StepStores, 'store'>,
  { customerId, recordId }: SyndicationRecord,
  generation: number,
): Promise<boolean> => {
  const last = await lastOf(store, syndicationStream(customerId, recordId), ['SyndicationToggled']);
  return last !== undefined && Number(last.data['generation']) <= generation;
};

export const isUnderWay = async (stores: StepStores, record: SyndicationRecord): Promise<boolean> => {
  const now = (await loadRecord(stores, record))?.record;
  return now?.generation === record.generation && now.status === 'SYNCING';
};

const CATEGORIES: Readonly<Record<SyndicationRecord['resourceType'], string>> = {
  AUDIENCE,
  EVENT_SOURCE,
  CATALOG,
};

export const resourceStream = ({
  resourceType,
  customerId,
  advertiserId,
  resourceId,
}: SyndicationRecord): string => {
  const category = CATEGORIES[resourceType];
  return `${category}-${customerId}-${resourceIdOf(category, customerId, advertiserId, resourceId)}`;
};

/** The cause is the deletion, if it came after the switch-on. @param advertiserIsArchived not the resource */
export const switchOff = async (
  stores: StepStores,
  record: SyndicationRecord,
  advertiserIsArchived: boolean,
): Promise<void> => {
  const { recordId, customerId, advertiserId, resourceType, resourceId, agentId, account } = record;
  const advertiser = advertiserStream(customerId, advertiserId);
  const resource = resourceStream(record);
  const on = await lastOf(stores.store, syndicationStream(customerId, recordId), ['SyndicationToggled']);
  const { correlationId, alsoCausedBy } = await causesSince(stores.store, {
    streams: [advertiser, resource],
    isNew: ({ position }) => on !== undefined && position > on.position,
    isOccasion: ({ type }) => type.endsWith('Archived'),
  });
  await execute(
    stores,
    unknown(record),
    'archived',
    {
      type: 'ToggleSyndication',
      now: isoTimestamp(stores.clock.now()),
      record: {
        recordId,
        customerId,
        advertiserId,
        resourceType,
        resourceId,
        agentId,
        account,
        ...(alsoCausedBy.length === 0 ? {} : { alsoCausedBy }),
      },
      enabled: false,
    },
    correlationId ?? (await lastCorrelation(stores.store, advertiserIsArchived ? advertiser : resource)),
  );
};

/**
 * Names the requests that changed the resource since the generation began.
 * @param before PENDING: its stream has no start of this generation
 * @returns the record after it; undefined when the generation has ended
 */
export const started = async (
  stores: StepStores,
  before: RecordAt,
  request: JsonMembers,
  resourceRevision: number,
): Promise<RecordAt | undefined> => {
  const now = isoTimestamp(stores.clock.now());
  const { record, correlationId } = before;
  const { generation, resourceRevision: seen } = record;
  const isChanged = seen !== undefined && seen < resourceRevision;
  const alsoCausedBy = isChanged
    ? await otherCausesSince(
        stores.store,
        changesOf(record, ({ revision }) => revision > seen, resourceRevision),
        correlationId,
      )
    : [];
  const command = {
    type: 'StartSyndication',
    now,
    generation,
    request,
    resourceRevision,
    alsoCausedBy,
  } as const;
  return execute(stores, before, 'start', command);
};

const changesOf = (record: SyndicationRecord, isNew: Occasions['isNew'], upTo: number): Occasions => ({
  streams: [resourceStream(record)],
  isNew,
  upTo,
  isOccasion: isSyndicatedChange,
});

/** @param before SYNCING: its stream has no result of this generation */
export const completed = async (
  stores: StepStores,
  before: RecordAt,
  responseData: JsonMembers,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = before.record;
  await execute(stores, before, 'result', { type: 'CompleteSyndication', now, generation, responseData });
};

export const failed = async (stores: StepStores, of: OfRequest, errorMessage: string): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = of.record;
  await execute(stores, await known(stores, of), 'result', {
    type: 'FailSyndication',
    now,
    generation,
    errorMessage,
  });
};

/** @param attempt number within the generation, from 1; recorded once */
export const retried = async (
  stores: StepStores,
  place: Pick<SyndicationRecord, 'customerId' | 'recordId' | 'generation'>,
  { attempt, errorMessage, afterMs }: { attempt: number; errorMessage: string; afterMs: number },
): Promise<void> => {
  const loaded = await loadRecord(stores, place);
  if (loaded?.record.generation !== place.generation) return;
  const nowMs = stores.clock.now();
  await execute(stores, await known(stores, loaded), `retry:${attempt}`, {
    type: 'RetrySyndication',
    now: isoTimestamp(nowMs),
    generation: place.generation,
    attempt,
    errorMessage,
    dueAt: isoTimestamp(nowMs + Math.ceil(afterMs)),
  });
};

/** @param reason why the agent could not be asked to delete the resource; absent on success */
export const withdrawn = async (stores: StepStores, of: OfRequest, reason?: string): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = of.record;
  const removed = reason === undefined;
  await execute(stores, await known(stores, of), 'result', {
    type: 'WithdrawSyndication',
    now,
    generation,
    removed,
    reason,
  });
};

/** True for changes after the revision that a generation has sent, or after its start if no revision was recorded. */
const isBehindStart = async (store: EventStore, record: SyndicationRecord): Promise<Occasions['isNew']> => {
  const { customerId, recordId, resourceRevision: read } = record;
  if (read !== undefined) return ({ revision }) => revision > read;
  const start = await lastOf(store, syndicationStream(customerId, recordId), ['SyndicationStarted']);
  return ({ position }) => start !== undefined && position > start.position;
};

/** Starts the generation that updates the agent. @param resourceRevision revision that differs from the agent's */
export const refreshed = async (
  stores: StepStores,
  record: SyndicationRecord,
  resourceRevision: number,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = record;
  const { correlationId, alsoCausedBy } = await causesSince(
    stores.store,
    changesOf(record, await isBehindStart(stores.store, record), resourceRevision),
  );
  const command = {
    type: 'RefreshSyndication',
    now,
    generation,
    resourceRevision,
    alsoCausedBy,
  } as const;
  // For generations without a recorded revision, the change may come before their start in the log.
  const cause = correlationId ?? (await lastCorrelation(stores.store, resourceStream(record)));
  await execute(stores, unknown(record), 'refresh', command, cause);
};

/** Later runs poll the task. @param correlationId of the call's generation, which may have ended meanwhile */
export const submitted = async (
  stores: StepStores,
  record: SyndicationRecord,
  call: Pick<SubmittedCall, 'idempotencyKey' | 'taskId' | 'taskOf'>,
  correlationId?: string,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation, alsoCausedBy = [] } = record;
  const command = { type: 'SubmitSyndication', now, generation, ...call, alsoCausedBy } as const;
  await execute(stores, unknown(record), `submitted:${call.idempotencyKey}`, command, correlationId);
};

/** The stream's revision is unknown, or it may contain this very step. */
const unknown = (record: SyndicationRecord): RecordAt => ({
  record,
  revision: undefined,
  correlationId: undefined,
});

/** Adds the generation's request. The last event may belong to a later request. */
const known = async ({ store }: StepStores, { record, correlationId }: OfRequest): Promise<RecordAt> => {
  if (correlationId !== undefined) return { ...unknown(record), correlationId };
  const beginning = await beginningOf(store, syndicationStream(record.customerId, record.recordId));
  return { ...unknown(record), correlationId: beginning?.metadata.correlationId };
};

const execute = async (
  { store, pause = sleep }: StepStores,
  at: RecordAt,
  step: 'start' | `submitted:${string}` | `retry:${number}` | 'result' | 'archived' | 'refresh',
  command: SyndicationCommand,
  /** Request that led to the step. Default: that of the generation. */
  correlationId: string | undefined = at.correlationId,
): Promise<RecordAt | undefined> => {
  const { record, revision } = at;
  const { customerId, recordId, generation } = record;
  const commandId = derivedId(recordId, `${generation}:${step}`);
  const outcome = await syndicationHandler.execute({ store }, recordId, command, {
    context: {
      commandId,
      customerId,
      actor: 'worker:syndication',
      requestId: commandId,
      ...(correlationId === undefined ? { continues: true } : { correlationId }),
    },
    known:
      revision === undefined || at.correlationId === undefined
        ? undefined
        : { state: record, revision, correlationId: at.correlationId },
    pause,
  });
  return outcome.outcome === 'refused' || outcome.state.status === 'NONE'
    ? undefined
    : {
        record: outcome.state,
        // Without the last event's request, the next step reads the stream.
        revision: at.correlationId === undefined ? undefined : outcome.revision,
        correlationId: at.correlationId,
      };
};
