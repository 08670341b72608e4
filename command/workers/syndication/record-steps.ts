import { advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { AUDIENCE } from '../../../domain/audiences/audience.ts';
import { CATALOG } from '../../../domain/catalogs/catalog.ts';
import { EVENT_SOURCE } from '../../../domain/event-sources/event-source.ts';
import { isSyndicatedChange } from '../../../domain/syndication/syndicated-change.ts';
import type { JsonMembers, SubmittedCall } from '../../../domain/syndication/syndication-resource.ts';
import {
  syndicationStream,
  type SyndicationCommand,
  type SyndicationRecord,
} from '../../../domain/syndication/syndication.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { EventStore, ExpectedRevision, RecordedEvent } from '../../../shared/event-store/event-store.ts';
import { derivedId, resourceIdOf } from '../../../shared/aggregate/ids.ts';
import { causesSince, lastCorrelation, lastOf, otherCausesSince, type Occasions } from '../causes.ts';
import { syndicationHandler } from '../../syndication/run-on-record.ts';

interface StepStores {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly pause?: (ms: number) => Promise<void>;
}

/** The steps of a generation that end up in the log. One command each, with one id, whoever takes it how often. */

/** A record, and where its stream was with it: a step that follows at once need not read it again. */
export interface RecordAt {
  readonly record: SyndicationRecord;
  /** Undefined where that is not known. */
  readonly revision: ExpectedRevision | undefined;
  /** The request that its generation belongs to. Undefined where that is not known. */
  readonly correlationId: string | undefined;
}

/** A record, and the request that its generation belongs to, as far as that is known. */
interface OfRequest {
  readonly record: SyndicationRecord;
  readonly correlationId?: string | undefined;
}

/** A record as its stream says now; undefined when there is none. */
export const loadRecord = async (
  { store }: Pick<StepStores, 'store'>,
  { customerId, recordId }: Pick<SyndicationRecord, 'customerId' | 'recordId'>,
): Promise<RecordAt | undefined> => {
  const { state, revision, correlationId } = await syndicationHandler.loadAt({ store }, customerId, recordId);
  if (state.status === 'NONE') return undefined;
  // The last event may tell of a call of an earlier generation, and belongs to that then.
  const isOfEarlier = state.submitted !== undefined && state.submitted.generation < state.generation;
  const own = isOfEarlier ? await beginningOf(store, syndicationStream(customerId, recordId)) : undefined;
  return { record: state, revision, correlationId: own?.metadata.correlationId ?? correlationId };
};

/** What the last generation began with; undefined when that is none of the newest events. */
const beginningOf = (store: EventStore, stream: string): Promise<RecordedEvent | undefined> =>
  lastOf(store, stream, ['SyndicationToggled', 'SyndicationRefreshed']);

/** Whether the generation is still to be brought to its agent. */
export const isUnderWay = async (stores: StepStores, record: SyndicationRecord): Promise<boolean> => {
  const now = (await loadRecord(stores, record))?.record;
  return now?.generation === record.generation && now.status === 'SYNCING';
};

const CATEGORIES: Readonly<Record<SyndicationRecord['resourceType'], string>> = {
  AUDIENCE,
  EVENT_SOURCE,
  CATALOG,
};

/** The stream of what is syndicated. */
export const resourceStream = ({
  resourceType,
  customerId,
  advertiserId,
  resourceId,
}: SyndicationRecord): string => {
  const category = CATEGORIES[resourceType];
  return `${category}-${customerId}-${resourceIdOf(category, customerId, advertiserId, resourceId)}`;
};

/**
 * What belongs to an archived advertiser, or was deleted, is switched off (decisions.md section 3): because of what of
 * that has come since it was switched on.
 * @param advertiserIsArchived that it is the advertiser, and not the resource
 */
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
 * Whoever has changed the resource since the generation began has had its agent brought that: they are named.
 * @param before PENDING: its stream held no start of this generation
 * @param resourceRevision of the resource, as the request has it
 * @returns the record after it; undefined when the generation is over
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

/** What has changed a resource, up to a revision. */
const changesOf = (record: SyndicationRecord, isNew: Occasions['isNew'], upTo: number): Occasions => ({
  streams: [resourceStream(record)],
  isNew,
  upTo,
  isOccasion: isSyndicatedChange,
});

/** @param before SYNCING: its stream held no result of this generation */
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

/**
 * A try came to nothing: the record says why, and when the next one is due.
 * @param attempt which try of the generation it was, from 1: recorded once
 */
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

/** @param reason why the agent could not be told; absent when it was */
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

/** Whether something came behind what a generation has read; of one that has not recorded that, behind its start. */
const isBehindStart = async (store: EventStore, record: SyndicationRecord): Promise<Occasions['isNew']> => {
  const { customerId, recordId, resourceRevision: read } = record;
  if (read !== undefined) return ({ revision }) => revision > read;
  const start = await lastOf(store, syndicationStream(customerId, recordId), ['SyndicationStarted']);
  return ({ position }) => start !== undefined && position > start.position;
};

/**
 * Begins the generation that brings the agent up to date.
 * @param resourceRevision of the resource, as it was found to be another one than the agent's
 */
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
  // What changed it after a generation of before its revision was recorded had read it may be before the start in the log.
  const cause = correlationId ?? (await lastCorrelation(stores.store, resourceStream(record)));
  await execute(stores, unknown(record), 'refresh', command, cause);
};

/**
 * The agent has taken a call in: whoever has the job next asks what became of it.
 * @param correlationId of the request that the call's generation belongs to: a later one may have begun meanwhile
 */
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

/** Of a record whose place in its stream is not known, or whose stream may hold this very step. */
const unknown = (record: SyndicationRecord): RecordAt => ({
  record,
  revision: undefined,
  correlationId: undefined,
});

/** The same, with the request that its generation belongs to: the last event may be a later one's, of an earlier one. */
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
  /** Of the request that led to it. Default: of the one that its generation belongs to. */
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
        // Where it is not known what the record's last event belongs to, the next step reads it.
        revision: at.correlationId === undefined ? undefined : outcome.revision,
        correlationId: at.correlationId,
      };
};
