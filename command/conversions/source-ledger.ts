import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SourceFacts } from '../../domain/conversions/admit-call.ts';
import { conversionStream } from '../../domain/conversions/events.ts';
import { fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import { CommandAbandonedError } from '../../shared/aggregate/execute-command.ts';
import { EventStoreUnavailableError, type EventStore } from '../../shared/event-store/event-store.ts';
import { appendGroup } from './append-group.ts';
import { createCallQueue, type WaitingCall } from './call-queue.ts';
import { decideGroup } from './decide-group.ts';
import { createValidation, type CallOutcome, type LogCall } from './log-call.ts';
import type { Segments } from './segments.ts';
import { createSourceIndex } from './source-index.ts';
import type { WaitingBytes } from './waiting-bytes.ts';

export interface SourceLedgerOptions {
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'ensurePositionRecorded' | 'appendBytesMax'>;
  readonly segments: Segments;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly customerId: number;
  readonly sourceId: string;
  /** Undefined when the source does not exist. */
  readonly loadSource: () => Promise<SourceFacts | undefined>;
  readonly waitingBytes: WaitingBytes;
  /** Maximum bytes per event. Default: `CHUNK_BYTES_MAX`. */
  readonly chunkBytesMax?: number;
  readonly pause?: (ms: number) => Promise<void>;
}

export interface SourceLedger {
  readonly pending: number;
  readonly bytes: number;
  readonly count: number;
  /** @throws AppendOutcomeUnknownError, EventStoreUnavailableError, CommandAbandonedError */
  submit(call: LogCall): Promise<CallOutcome>;
}

/** Conflicts with other processes before the calls fail with 503. */
const ATTEMPTS_MAX = 24;
const CONFLICT_BACKOFF = { baseMs: 2, capMs: 50 };

/**
 * The core of endpoint 14 (docs/design/conversions.md). A decision is appended at exactly the revision of the
 * fold. If another process has appended meanwhile, the append conflicts, and the ledger reads on and decides
 * again. So each event is logged once, with any number of processes and crashes, and without reservations.
 */
export const createSourceLedger = (options: SourceLedgerOptions): SourceLedger => {
  const { customerId, sourceId, loadSource, pause = sleep } = options;
  const stream = conversionStream(customerId, sourceId);
  const context = { ...options, stream };
  const fingerprintInto = fingerprintsOf(sourceId);
  const index = createSourceIndex(options);
  const queue = createCallQueue(stream, options.waitingBytes);
  let groupSize = 0;
  let isWorking = false;
  let lastFacts: SourceFacts | undefined;

  /** After an error the caller rejects the remaining calls. */
  const logGroup = async (group: readonly WaitingCall[]): Promise<void> => {
    let open = group;
    for (let attempt = 1; open.length > 0;) {
      const [facts] = await Promise.all([loadSource(), index.bringUpToDate()]);
      lastFacts = facts;
      const { decided, left } = await decideGroup(context, index, facts, open.filter(isStillWanted));
      if (await appendGroup(context, index, decided)) {
        open = left;
        continue;
      }
      if (attempt >= ATTEMPTS_MAX) throw tooManyWriters(stream);
      await pause(backoffMs(attempt, CONFLICT_BACKOFF));
      attempt += 1;
      open = [...decided.map(({ waiting }) => waiting), ...left];
    }
  };

  const work = async (): Promise<void> => {
    isWorking = true;
    // Waits for this iteration's callbacks, so that calls that arrive together form one group.
    await nextTurn();
    while (queue.length > 0) {
      const group = queue.take();
      groupSize = group.length;
      await logGroup(group).catch((error: unknown) => {
        index.doubt();
        for (const { reject } of group) reject(error);
      });
      groupSize = 0;
    }
    isWorking = false;
  };

  return {
    get pending() {
      return queue.length + groupSize;
    },
    get bytes() {
      return index.bytes;
    },
    get count() {
      return index.count;
    },
    submit: (call) => {
      const validate = createValidation(call, fingerprintInto);
      // Validates in the event-loop iteration of the request, so that the group's decision blocks for less time.
      validate(lastFacts?.allowedTypes);
      const answer = queue.add(call, validate, () => index.isLoaded);
      if (!isWorking) void work();
      return answer;
    },
  };
};

/** Rejects abandoned calls: a client that was asked to repeat the request must find no effect of this run. */
const isStillWanted = ({ call, reject, isGivenUp }: WaitingCall): boolean => {
  if (isGivenUp()) return false;
  if (!call.isAbandoned()) return true;
  reject(new CommandAbandonedError('the call started too late'));
  return false;
};

const tooManyWriters = (stream: string): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`${ATTEMPTS_MAX} appends to ${stream} conflicted with newer events`);
