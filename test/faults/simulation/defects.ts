import {
  AppendOutcomeUnknownError,
  WrongExpectedRevisionError,
  type EventStore,
} from '../../../shared/event-store/event-store.ts';
import { ApiError } from '../../../shared/http/errors.ts';
import { boolArray, int8Array, textArray } from '../../../shared/postgres/binary-array.ts';
import { mutants } from '../mutants.ts';
import type { Defect } from './cluster.ts';
import type { Row, Tables } from './database.ts';
import type { StatementContext, Statement } from './statement.ts';

type Run = (tables: Tables, values: readonly unknown[], at: StatementContext) => readonly Row[] | number;

/** Replaces the statement of that name. */
const withStatement = (name: string, change: (run: Run) => Run): Defect => ({
  statement: (statement: Statement) =>
    statement.is === name ? { ...statement, run: change(statement.run) } : statement,
});

const withAppend = (change: (store: EventStore) => EventStore['append']): Defect => ({
  store: (store) => ({ ...store, append: change(store) }),
});

const rowOf = ({ keys }: Tables, [scope, key]: readonly unknown[]): Row | undefined =>
  keys.get(`${String(scope)} ${String(key)}`);

/** Planted defects of the crash run that need neither a clock nor chance. */
const shared = [
  'random-command-id',
  'reserved-id-not-kept',
  'answer-not-kept',
  'replay-without-its-status',
  'fingerprint-ignored',
  'own-events-not-recognised',
  'any-revision-and-new-ids',
] as const;

/** Planted defects that the simulation must catch. Each is an easy mistake. */
export const defects: Readonly<Record<string, Defect>> = {
  ...Object.fromEntries(shared.map((name) => [name, mutants[name] ?? {}])),
  /** The first claimant frees a claim that another process has taken over. */
  'claim-freed-by-another': withStatement('idempotency-release', (run) => (tables, values, at) => {
    const lease = rowOf(tables, values)?.['leaseUntil'];
    return run(tables, [values[0], values[1], String(lease)], at);
  }),
  /** A snapshot hides the events of an earlier run of the command. */
  'snapshot-hides-own-events': {
    idempotency: (store) => ({
      ...store,
      claim: async (request) => {
        const claim = await store.claim(request);
        return claim.outcome === 'claimed' ? { ...claim, isFirst: true } : claim;
      },
      isHeld: async () => true,
    }),
  },
  /** A request continues although its client was asked to repeat it. */
  'abandoned-request-goes-on': { ignoresDeadline: true },
  /** Deletes keys by age alone, even while a command runs with them. */
  'purged-while-running': withStatement('idempotency-purge', () => ({ keys }, _values, { now }) => {
    const old = keys.rows().filter(([, row]) => Number(row['claimedAt']) <= now - 86_400_000);
    for (const [name] of old) keys.delete(name);
    return old.length;
  }),
  /** An unknown outcome frees the key and with it the command id. */
  'unknown-frees-the-key': { idempotency: (store) => ({ ...store, lapse: store.release }) },
  /** Answers a lost reply as a refusal. */
  'timeout-taken-for-failure': withAppend((store) => async (stream, events, expected) => {
    try {
      return await store.append(stream, events, expected);
    } catch (error) {
      if (!(error instanceof AppendOutcomeUnknownError)) throw error;
      throw new ApiError({ code: 'CONFLICT', message: 'Not written.' });
    }
  }),
  /** A command claims that its append cannot be a repeat although another process took over its claim. */
  'repeat-taken-for-the-first': withAppend(
    (store) => (stream, events, expected) =>
      store.append(stream, events, expected, { mayBeRepeat: async () => false }),
  ),
  /** Treats a conflict as the result of this append. */
  'conflict-taken-for-success': withAppend((store) => async (stream, events, expected) => {
    try {
      return await store.append(stream, events, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || typeof error.actual !== 'number') throw error;
      return { revision: error.actual, position: await store.head(), repeated: false };
    }
  }),
  /** Some events never become rows, but the checkpoint passes them. */
  'rows-left-out': {
    projection: (projection) => ({
      ...projection,
      apply: async (client, events) => {
        await projection.apply(
          client,
          events.filter(({ revision }) => revision === 0 || revision % 3 !== 0),
        );
      },
    }),
  },
  /** Moves the checkpoint from any position, so that two projectors overtake each other. */
  'checkpoint-without-fence': withStatement('move-checkpoint', () => ({ checkpoints }, [name, , , to]) => {
    const row = checkpoints.get(String(name));
    if (row === undefined) return 0;
    checkpoints.set(String(name), { ...row, position: to });
    return 1;
  }),
  /** Adds to counts for every delivery, also for events that the rows include already. */
  'counts-of-every-delivery': {
    projection: (projection) => ({
      ...projection,
      apply: async (client, events) => {
        await projection.apply(client, events);
        for (const { metadata } of events.filter(({ type }) => type === 'AdvertiserCreated').slice(1)) {
          const kind = [int8Array([metadata.customerId]), textArray(['ACTIVE']), boolArray([false])];
          const values = [int8Array([1]), ...kind];
          await client.query({ name: 'advertiser_counts-add', text: '', values });
        }
      },
    }),
  },
  /** Does not write parked streams to the table, so the operator finds none. */
  'parking-forgotten': withStatement(
    'insert into parked_streams',
    () =>
      (_tables, [, streams]) =>
        (streams as readonly string[]).length,
  ),
};
