import { migrations } from '../../migrations/index.ts';
import type { OnlineOptions } from '../../projections/engine/copy/online-rebuild.ts';
import { createLog } from '../../app/log.ts';

/** What a rebuild or a comparison beside a service is called with, by nobody who would hear of it or end it. */
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
