import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SourceFacts } from '../../domain/conversions/admit-call.ts';
import { conversionStream } from '../../domain/conversions/conversion-events.ts';
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
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'ensureMarked' | 'appendBytesMax'>;
  readonly segments: Segments;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly customerId: number;
  readonly sourceId: string;
  /** The source and its advertiser, as their streams say now; undefined when there is no such source. */
  readonly loadSource: () => Promise<SourceFacts | undefined>;
  /** Shared by all sources of the process. */
  readonly waitingBytes: WaitingBytes;
  /** Largest event, in bytes. Default `CHUNK_BYTES_MAX`. */
  readonly chunkBytesMax?: number;
  /** Waits out a lost race. Default: by the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** All calls of one source within this process: decided one after the other, appended together. */
export interface SourceLedger {
  /** Calls without an answer. */
  readonly pending: number;
  /** Memory of what is known, in bytes. */
  readonly bytes: number;
  /** Fingerprints that are known. */
  readonly count: number;
  /**
   * Answers a call; with mode `log` its new items are in the stream then.
   * @throws AppendOutcomeUnknownError, EventStoreUnavailableError, CommandAbandonedError
   */
  submit(call: LogCall): Promise<CallOutcome>;
}

/** Lost races against other processes before the calls are told to come again. */
const ATTEMPTS_MAX = 24;
const CONFLICT_BACKOFF = { baseMs: 2, capMs: 50 };

/**
 * The heart of endpoint 14 (docs/conversions.md). What is known is a fold of the source's own stream, held in memory;
 * a decision made on it is appended at exactly the revision that it was folded up to. Whoever else wrote to the stream
 * meanwhile makes that append a conflict: what is new is read, and everything is decided again. So each event is logged
 * once, with any number of processes and wherever one of them ends, and nothing is ever reserved.
 */
export const createSourceLedger = (options: SourceLedgerOptions): SourceLedger => {
  const { customerId, sourceId, loadSource, pause = sleep } = options;
  const stream = conversionStream(customerId, sourceId);
  const context = { ...options, stream };
  const fingerprintInto = fingerprintsOf(sourceId);
  const index = createSourceIndex(options);
  const queue = createCallQueue(stream, options.waitingBytes);
  let underWay = 0;
  let isWorking = false;
  /** What the source took when it was last looked at. */
  let lastFacts: SourceFacts | undefined;

  /** Answers every call of the group, or throws: then those without an answer share the error. */
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
    // After this turn's callbacks: calls that arrived together, or were answered together, go together.
    await nextTurn();
    while (queue.length > 0) {
      const group = queue.take();
      underWay = group.length;
      await logGroup(group).catch((error: unknown) => {
        index.doubt();
        for (const { reject } of group) reject(error);
      });
      underWay = 0;
    }
    isWorking = false;
  };

  return {
    get pending() {
      return queue.length + underWay;
    },
    get bytes() {
      return index.bytes;
    },
    get count() {
      return index.count;
    },
    submit: (call) => {
      const validate = createValidation(call, fingerprintInto);
      // Now, in the turn of its request, and not in one go with those of others.
      validate(lastFacts?.allowedTypes);
      const answer = queue.add(call, validate, () => index.isLoaded);
      if (!isWorking) void work();
      return answer;
    },
  };
};

/** Who was told to come again must find nothing done by this run. */
const isStillWanted = ({ call, reject, isGivenUp }: WaitingCall): boolean => {
  if (isGivenUp) return false;
  if (!call.isAbandoned()) return true;
  reject(new CommandAbandonedError('a call was begun too late'));
  return false;
};

const tooManyWriters = (stream: string): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`${ATTEMPTS_MAX} appends to ${stream} met newer events`);
