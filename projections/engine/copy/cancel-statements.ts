import type { ClientBase } from 'pg';
import { sleep } from '../../../shared/async/backoff.ts';

const EVERY_MS = 300;

/** Without the connection that holds the copy. Only one process has any. */
export const workingName = (projection: string): string => `exchange-copy ${projection}`;

/**
 * All users of a table wait behind a session that waits for its lock, e.g. a migration. The lock's holder may
 * be idle and wait for the copy's others, so the statements of all of them are cancelled.
 */
const IN_THE_WAY = `exists (
  select from pg_stat_activity holder join pg_locks held on held.pid = holder.pid
    join pg_locks wanted using (database, relation)
  where holder.datname = current_database() and holder.application_name = $1
    and held.granted and not wanted.granted and wanted.mode = 'AccessExclusiveLock')`;

/** Otherwise an index build or a comparison would run to its end. @returns a function that stops this */
export const cancelOnAbort = (
  guard: Pick<ClientBase, 'query'>,
  projection: string,
  signal: AbortSignal,
): (() => Promise<void>) => {
  let stop = async (): Promise<void> => undefined;
  const begin = (): void => {
    stop = repeatedly(() => cancel(guard, projection, 'true'));
  };
  signal.addEventListener('abort', begin, { once: true });
  if (signal.aborted) begin();
  return () => {
    signal.removeEventListener('abort', begin);
    return stop();
  };
};

/** While they block a session that waits for an exclusive table lock. @returns a function that stops this */
export const cancelWhenInTheWay = (
  guard: Pick<ClientBase, 'query'>,
  projection: string,
  onCancel: () => void,
): (() => Promise<void>) =>
  repeatedly(async () => {
    if ((await cancel(guard, projection, IN_THE_WAY)) > 0) onCancel();
  });

/**
 * For work that is useless after one cancellation: cancels all its further statements, too. Otherwise a
 * connection that was between two statements would run the rest.
 * @returns `inTheWay`: aborted after the first cancellation; `stop`: stops this
 */
export const endWhenInTheWay = (
  guard: Pick<ClientBase, 'query'>,
  projection: string,
): { readonly inTheWay: AbortSignal; readonly stop: () => Promise<void> } => {
  const found = new AbortController();
  const stopCancelling = cancelOnAbort(guard, projection, found.signal);
  const stopLooking = cancelWhenInTheWay(guard, projection, () => found.abort());
  const stop = async (): Promise<void> => {
    await stopLooking();
    await stopCancelling();
  };
  return { inTheWay: found.signal, stop };
};

const cancel = async (
  guard: Pick<ClientBase, 'query'>,
  projection: string,
  which: string,
): Promise<number> => {
  const { rowCount } = await guard.query(
    `select pg_cancel_backend(a.pid) from pg_stat_activity a
     where a.datname = current_database() and a.application_name = $1 and ${which}`,
    [workingName(projection)],
  );
  return rowCount ?? 0;
};

/** Repeats, because between two statements there is nothing to cancel. */
const repeatedly = (work: () => Promise<void | number>): (() => Promise<void>) => {
  const ending = new AbortController();
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // If the guard's connection is lost, the work ends anyway.
      await work().catch(() => undefined);
      await sleep(EVERY_MS, ending.signal);
    }
  };
  const running = run();
  return () => {
    ending.abort();
    return running;
  };
};
