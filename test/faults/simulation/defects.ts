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
import type { Moment, Statement } from './statement.ts';

type Run = (tables: Tables, values: readonly unknown[], at: Moment) => readonly Row[] | number;

/** Another statement in the place of the one of that name. */
const withStatement = (name: string, change: (run: Run) => Run): Defect => ({
  statement: (statement: Statement) =>
    statement.is === name ? { ...statement, run: change(statement.run) } : statement,
});

const withAppend = (change: (store: EventStore) => EventStore['append']): Defect => ({
  store: (store) => ({ ...store, append: change(store) }),
});

const rowOf = ({ keys }: Tables, [scope, key]: readonly unknown[]): Row | undefined =>
  keys.get(`${String(scope)} ${String(key)}`);

/** The planted defects of the crash run that need neither a clock nor chance. */
const shared = [
  'random-command-id',
  'reserved-id-not-kept',
  'answer-not-kept',
  'replay-without-its-status',
  'fingerprint-ignored',
  'own-events-not-recognised',
  'any-revision-and-new-ids',
] as const;

/** Deliberate defects that the simulation must catch; each is a mistake that is easily made. */
export const defects: Readonly<Record<string, Defect>> = {
  ...Object.fromEntries(shared.map((name) => [name, mutants[name] ?? {}])),
  /** A claim that was taken over is freed by its first claimant. */
  'claim-freed-by-another': withStatement('idempotency-release', (run) => (tables, values, at) => {
    const lease = rowOf(tables, values)?.['leaseUntil'];
    return run(tables, [values[0], values[1], String(lease)], at);
  }),
  /** A snapshot hides the events that an earlier run of the command has left. */
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
  /** A request goes on although its client was told to ask again. */
  'abandoned-request-goes-on': { ignoresDeadline: true },
  /** Keys are deleted by their age alone, whatever runs under them. */
  'purged-while-running': withStatement('idempotency-purge', () => ({ keys }, _values, { now }) => {
    const old = keys.rows().filter(([, row]) => Number(row['claimedAt']) <= now - 86_400_000);
    for (const [name] of old) keys.delete(name);
    return old.length;
  }),
  /** An unknown outcome frees the key, and with it the command id of its first day. */
  'unknown-frees-the-key': { idempotency: (store) => ({ ...store, lapse: store.release }) },
  /** A lost reply is answered as a refusal. */
  'timeout-taken-for-failure': withAppend((store) => async (stream, events, expected) => {
    try {
      return await store.append(stream, events, expected);
    } catch (error) {
      if (!(error instanceof AppendOutcomeUnknownError)) throw error;
      throw new ApiError({ code: 'CONFLICT', message: 'Not written.' });
    }
  }),
  /** A command claims that its append cannot be a repeat although another process took the claim over. */
  'repeat-taken-for-the-first': withAppend(
    (store) => (stream, events, expected) =>
      store.append(stream, events, expected, { mayBeRepeat: async () => false }),
  ),
  /** A conflict is taken for the result of this very append. */
  'conflict-taken-for-success': withAppend((store) => async (stream, events, expected) => {
    try {
      return await store.append(stream, events, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || typeof error.actual !== 'number') throw error;
      return { revision: error.actual, position: await store.head(), repeated: false };
    }
  }),
  /** Some events never become rows; the checkpoint passes them. */
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
  /** The checkpoint moves from wherever it is: two projectors overtake each other. */
  'checkpoint-without-fence': withStatement('move-checkpoint', () => ({ checkpoints }, [name, , , to]) => {
    const row = checkpoints.get(String(name));
    if (row === undefined) return 0;
    checkpoints.set(String(name), { ...row, position: to });
    return 1;
  }),
  /** Counts are added for every delivery, also for what the rows have already. */
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
  /** Parked streams are not parked in the table: the operator finds nothing to mend. */
  'parking-forgotten': withStatement(
    'insert into parked_streams',
    () =>
      (_tables, [, streams]) =>
        (streams as readonly string[]).length,
  ),
};
