import type { ClientBase } from 'pg';
import { sleep } from '../../../shared/async/backoff.ts';

const EVERY_MS = 300;

/** Connections of a copy, of which one process at a time has any: those that work, not the one that holds it. */
export const workingName = (projection: string): string => `exchange-copy ${projection}`;

/**
 * Somebody waits for a table that one of the connections reads, and everybody else behind him: a migration, say. All of
 * them are told: the one that has it may be done with it, and wait for the others.
 */
const IN_THE_WAY = `exists (
  select from pg_stat_activity holder join pg_locks held on held.pid = holder.pid
    join pg_locks wanted using (database, relation)
  where holder.datname = current_database() and holder.application_name = $1
    and held.granted and not wanted.granted and wanted.mode = 'AccessExclusiveLock')`;

/**
 * Cancels whatever the copy's connections are at once `signal` says so, also if it has said so before: an index that is
 * being made, or a comparison, would otherwise go on to its end.
 * @returns ends it
 */
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

/**
 * Cancels the copy's statements while they are in the way of somebody who wants a table for himself.
 * @param onCancel called when one was
 * @returns ends it
 */
export const cancelWhenInTheWay = (
  guard: Pick<ClientBase, 'query'>,
  projection: string,
  onCancel: () => void,
): (() => Promise<void>) =>
  repeatedly(async () => {
    if ((await cancel(guard, projection, IN_THE_WAY)) > 0) onCancel();
  });

/**
 * The same for work that is of no use any more once it was in the way: then everything is cancelled to the end, also what
 * its connections begin behind it. One that was between two statements would otherwise do all the rest.
 * @returns `inTheWay`: aborted when it was; `stop`: ends it
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

/** @returns how many connections were told */
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

/** Again and again: between two statements there is nothing to cancel. */
const repeatedly = (work: () => Promise<void | number>): (() => Promise<void>) => {
  const ending = new AbortController();
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // A guard that was lost ends the work itself.
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
