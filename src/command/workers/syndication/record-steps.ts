import { advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { AUDIENCE } from '../../../domain/audiences/audience.ts';
import { CATALOG } from '../../../domain/catalogs/catalog.ts';
import { EVENT_SOURCE } from '../../../domain/event-sources/event-source.ts';
import type { JsonMembers, SubmittedCall } from '../../../domain/syndication/syndication-resource.ts';
import {
  syndicationStream,
  type SyndicationCommand,
  type SyndicationRecord,
} from '../../../domain/syndication/syndication.ts';
import { sleep } from '../../../shared/backoff.ts';
import { isoTimestamp, type Clock } from '../../../shared/clock.ts';
import { executeCommand } from '../../../shared/command/execute-command.ts';
import { loadStream } from '../../../shared/command/load-stream.ts';
import type { EventStore, ExpectedRevision } from '../../../shared/event-store/event-store.ts';
import { derivedId, resourceIdOf } from '../../../shared/ids.ts';
import { causesSince, lastCorrelation, lastPlaceOf } from '../causes.ts';
import { syndicationAggregate } from '../../syndication/syndication-aggregate.ts';

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
  /** Of the stream's last event: the request that it belongs to. Undefined where that is not known. */
  readonly correlationId: string | undefined;
}

/** A record as its stream says now; undefined when there is none. */
export const loadRecord = async (
  { store }: Pick<StepStores, 'store'>,
  { customerId, recordId }: Pick<SyndicationRecord, 'customerId' | 'recordId'>,
): Promise<RecordAt | undefined> => {
  const stream = syndicationStream(customerId, recordId);
  const { state, revision, correlationId } = await loadStream(store, syndicationAggregate, stream, {});
  return state.status === 'NONE' ? undefined : { record: state, revision, correlationId };
};

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
 * What belongs to an archived advertiser, or was deleted, is switched off (decisions.md section 3).
 * @param advertiserIsArchived that it is the advertiser, and not the resource
 */
export const switchOff = async (
  stores: StepStores,
  record: SyndicationRecord,
  advertiserIsArchived: boolean,
): Promise<void> => {
  const { recordId, customerId, advertiserId, resourceType, resourceId, agentId, account } = record;
  const cause = advertiserIsArchived ? advertiserStream(customerId, advertiserId) : resourceStream(record);
  await execute(
    stores,
    unknown(record),
    'archived',
    {
      type: 'ToggleSyndication',
      now: isoTimestamp(stores.clock.now()),
      record: { recordId, customerId, advertiserId, resourceType, resourceId, agentId, account },
      enabled: false,
    },
    await lastCorrelation(stores.store, cause),
  );
};

/**
 * @param before PENDING: its stream held no start of this generation
 * @returns the record after it; undefined when the generation is over
 */
export const started = (
  stores: StepStores,
  before: RecordAt,
  request: JsonMembers,
): Promise<RecordAt | undefined> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = before.record;
  return execute(stores, before, 'start', { type: 'StartSyndication', now, generation, request });
};

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

export const failed = async (
  stores: StepStores,
  record: SyndicationRecord,
  errorMessage: string,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = record;
  await execute(stores, unknown(record), 'result', {
    type: 'FailSyndication',
    now,
    generation,
    errorMessage,
  });
};

/** @param reason why the agent could not be told; absent when it was */
export const withdrawn = async (
  stores: StepStores,
  record: SyndicationRecord,
  reason?: string,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { generation } = record;
  const removed = reason === undefined;
  await execute(stores, unknown(record), 'result', {
    type: 'WithdrawSyndication',
    now,
    generation,
    removed,
    reason,
  });
};

/** Begins the generation that brings the agent up to date. */
export const refreshed = async (stores: StepStores, record: SyndicationRecord): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  const { customerId, recordId, generation } = record;
  const stream = resourceStream(record);
  const own = syndicationStream(customerId, recordId);
  const since = await lastPlaceOf(stores.store, own, 'SyndicationStarted');
  const { correlationId, alsoCausedBy } =
    since === undefined
      ? { correlationId: undefined, alsoCausedBy: [] }
      : await causesSince(stores.store, { streams: [stream], since });
  const command = { type: 'RefreshSyndication', now, generation, alsoCausedBy } as const;
  // What changed it after the generation had read it is before the start in the log, if it came in that moment.
  const cause = correlationId ?? (await lastCorrelation(stores.store, stream));
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
  const { generation } = record;
  const command = { type: 'SubmitSyndication', now, generation, ...call } as const;
  await execute(stores, unknown(record), `submitted:${call.idempotencyKey}`, command, correlationId);
};

/** Of a record whose place in its stream is not known, or whose stream may hold this very step. */
const unknown = (record: SyndicationRecord): RecordAt => ({
  record,
  revision: undefined,
  correlationId: undefined,
});

const execute = async (
  { store, pause = sleep }: StepStores,
  at: RecordAt,
  step: 'start' | `submitted:${string}` | 'result' | 'archived' | 'refresh',
  command: SyndicationCommand,
  /** Of the request that led to it. Default: of the one that the record's last event belongs to. */
  correlationId?: string,
): Promise<RecordAt | undefined> => {
  const { record, revision } = at;
  const { customerId, recordId, generation } = record;
  const commandId = derivedId(recordId, `${generation}:${step}`);
  const outcome = await executeCommand(store, syndicationAggregate, {
    stream: syndicationStream(customerId, recordId),
    command,
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
