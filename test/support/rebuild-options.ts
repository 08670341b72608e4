import { migrations } from '../../migrations/index.ts';
import type { OnlineOptions } from '../../projections/engine/copy/online-rebuild.ts';
import { createLog } from '../../app/log.ts';

/** Options of a rebuild or comparison that is not observed and not cancelled. */
export const rebuildOptions = (
  { databaseUrl, store }: Pick<OnlineOptions, 'databaseUrl' | 'store'>,
  more: Partial<OnlineOptions> = {},
): OnlineOptions => ({
  databaseUrl,
  store,
  log: createLog('silent'),
  program: 'test',
  migrations: migrations.map(({ name }) => name),
  signal: new AbortController().signal,
  onProgress: () => undefined,
  ...more,
});
