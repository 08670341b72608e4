/**
 * Runs commands from a separate process, as a service does: `node command-load-process.js URL WORKERS DATABASE_URL
 * [DEFECT]`. It uses the service's own code from the request to the append: idempotency claims in Postgres, cached
 * streams, appends. Sends `ready` to its parent, runs commands until it receives `stop`, and then reports their
 * outcomes.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'pg';
import { pino } from 'pino';
import { sleep } from '../../../shared/async/backoff.ts';
import type { Decider } from '../../../shared/aggregate/aggregate.ts';
import { executeCommand } from '../../../shared/aggregate/execute-command.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  type EventStore,
} from '../../../shared/event-store/event-store.ts';
import { createEventStoreDbEventStore } from '../../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { apiErrorOf } from '../../../shared/http/api-error-of.ts';
import { ApiError } from '../../../shared/http/errors.ts';
import { createExecuteOnce } from '../../../shared/http/execute-once.ts';
import { createIdempotencyStore } from '../../../shared/idempotency/idempotency-store.ts';
import { REPEAT_TREATED_AS_FIRST, type CommandLoad, type DoneCommand } from './append-load.ts';

const [, , connectionString = '', workers = '1', databaseUrl = '', defect = ''] = process.argv;
const log = pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' });

/** Commands on a new stream after its first one. */
const COMMANDS_OF_STREAM = 6;
/** Streams that the workers of all processes share, and the duration of the use of each, in ms. */
const SHARED_STREAMS = 12;
const SHARED_MS = 2_000;
const IN_FLIGHT_PAUSE_MS = 20;
/** The probability of repeating a completed command. It exposes a planted defect, which must show soon. */
const AGAIN = defect === '' ? 0.1 : 1;

interface Tally {
  readonly count: number;
  /**
   * The run of the command that appended the last event. A command that mistakes a repeat for its own append answers
   * with another run.
   */
  readonly run: string;
}

interface TallyEvent {
  readonly type: 'TallyEvent';
  readonly data: Tally;
  readonly occurredAt: string;
}

/** Each event contains the count of events, so the log shows a decision on a wrong state. */
const tally: Decider<Tally, { readonly run: string }, TallyEvent, never> = {
  initialState: { count: 0, run: '' },
  evolve: (_, { data }) => data,
  decide: ({ run: by }, { count }) => ({
    events: [
      { type: 'TallyEvent', data: { count: count + 1, run: by }, occurredAt: '2026-01-02T03:04:05.678Z' },
    ],
  }),
  events: { TallyEvent: { schemaVersion: 1 } },
};

const openStore = (): EventStore =>
  createEventStoreDbEventStore({ connectionString, log, recordPosition: async () => undefined });
/** Two connections with different cached streams: a command may be repeated on the other one. */
const stores = [openStore(), openStore()] as const;
const pool = new Pool({ connectionString: databaseUrl, max: 6 });
const executeOnce = createExecuteOnce(createIdempotencyStore(pool), log);
const load: CommandLoad = { done: [], givenUp: [], failed: [], unknown: 0, readBack: 0 };
let isStopping = false;

interface Command {
  readonly key: string;
  readonly stream: string;
  readonly isNew: boolean;
  readonly keepsAnswer: boolean;
}

const run = async (store: EventStore, { key, stream, isNew, keepsAnswer }: Command): Promise<DoneCommand> => {
  const request = { scope: 'load', key, fingerprint: Buffer.alloc(32), reserved: {}, keepsAnswer };
  const { body } = await executeOnce(request, async ({ commandId, hasRunBefore }) => {
    const context = { commandId, customerId: 7, actor: 'worker:load', requestId: randomUUID() };
    const hasRun = async (): Promise<boolean> => {
      const answer = await hasRunBefore();
      if (answer) load.readBack += 1;
      return answer && defect !== REPEAT_TREATED_AS_FIRST;
    };
    try {
      const outcome = await executeCommand(store, tally, {
        stream,
        command: { run: context.requestId },
        context,
        isNew,
        hasRunBefore: hasRun,
      });
      if (outcome.outcome === 'refused') throw new Error('A tally has no refusals.');
      const { revision = -1, state } = outcome;
      return { status: 200, body: JSON.stringify({ commandId, stream, revision, ...state }) };
    } catch (error) {
      throw apiErrorOf(error);
    }
  });
  return JSON.parse(body) as DoneCommand;
};

const anyStore = (): EventStore => stores[Math.random() < 0.5 ? 0 : 1];

/**
 * Sends a command until it succeeds, as clients do. Sometimes it sends it twice concurrently, or repeats it after
 * success.
 */
const settle = async (command: Command): Promise<void> => {
  for (let mayBeThere = false; ;) {
    const runs =
      Math.random() < 0.1 ? stores.map((store) => run(store, command)) : [run(anyStore(), command)];
    const ended = await Promise.allSettled(runs);
    const answers = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const [first] = answers;
    if (first !== undefined) {
      if (Math.random() < AGAIN) answers.push(await again(command));
      if (!answers.every((answer) => isDeepStrictEqual(answer, first))) {
        throw new Error(`answers differ: ${JSON.stringify(answers)}`);
      }
      load.done.push(first);
      return;
    }
    const errors = ended.flatMap((one) => (one.status === 'rejected' ? [apiErrorOf(one.reason)] : []));
    for (const error of errors) if (mayHaveAppended(error)) mayBeThere = true;
    if (mayBeThere) load.unknown += 1;
    else if (errors.some(({ status }) => status === 503) && Math.random() < 0.5) {
      load.givenUp.push(command.key);
      return;
    }
    await sleep(IN_FLIGHT_PAUSE_MS);
  }
};

/** @returns the answer to a repeat of a completed command */
const again = async (command: Command): Promise<DoneCommand> => {
  for (;;) {
    try {
      return await run(anyStore(), command);
    } catch (error) {
      mayHaveAppended(apiErrorOf(error));
      await sleep(IN_FLIGHT_PAUSE_MS);
    }
  }
};

/** @returns whether the outcome is unknown @throws Error for an outcome that no command of this load may have */
const mayHaveAppended = (error: ApiError): boolean => {
  if (error.cause instanceof AppendOutcomeUnknownError) return true;
  const isDefinite =
    error.cause instanceof EventStoreUnavailableError ||
    error.body.code === 'IDEMPOTENCY_IN_FLIGHT' ||
    error.body.code === 'CONFLICT';
  if (!isDefinite) throw error;
  return false;
};

const newCommand = (stream: string, isNew = false): Command => ({
  key: randomUUID(),
  stream,
  isNew,
  keepsAnswer: Math.random() < 0.5,
});
const sharedStream = (): string =>
  `tally-shared-${Math.floor(Math.random() * SHARED_STREAMS)}-${Math.floor(Date.now() / SHARED_MS)}`;

const work = async (worker: number): Promise<void> => {
  for (let n = 0; !isStopping; n += 1) {
    const stream = `tally-${process.pid}-${worker}-${n}`;
    await settle(newCommand(stream, true));
    for (let times = 0; times < COMMANDS_OF_STREAM && !isStopping; times += 1) {
      await settle(newCommand(Math.random() < 0.5 ? stream : sharedStream()));
    }
  }
};

const working = Promise.all(
  Array.from({ length: Number(workers) }, (_, worker) =>
    work(worker).catch((error: unknown) => load.failed.push(describeError(error))),
  ),
);
const describeError = (error: unknown): string =>
  `${String(error)}${error instanceof ApiError ? `: ${String(error.cause)}` : ''}`;
process.once('message', () => {
  isStopping = true;
  void working
    .then(() => Promise.all([...stores.map((store) => store.close()), pool.end()]))
    .then(() => process.send?.(load, () => process.disconnect()));
});
process.send?.('ready');
