import type { Pool } from 'pg';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import type { Installation } from './installation.ts';

export const databaseReadiness = (pool: Pool, isPrepared: () => boolean): ReadinessPart => ({
  name: 'database',
  check: async () => {
    await pool.query('select 1');
    return isPrepared() ? { ready: true } : { ready: false, detail: 'not migrated yet' };
  },
});

export const eventStoreReadiness = ({
  store,
  storeKind: kind,
  appendProblem,
}: Pick<Installation, 'store' | 'storeKind' | 'appendProblem'>): ReadinessPart => ({
  name: 'eventStore',
  check: async () => {
    // Both at the same time: one after the other could take longer than a part may.
    const head = store.head();
    head.catch(() => undefined);
    const problem = await appendProblem();
    return problem === undefined
      ? { ready: true, detail: { kind, head: await head } }
      : { ready: false, detail: { kind, problem } };
  },
});

/** Optional: everything but uploads works without the asset store. */
export const assetStoreReadiness = (objects: ObjectStore): ReadinessPart => ({
  name: 'assetStore',
  optional: true,
  check: async () => {
    await objects.check();
    return { ready: true, detail: { kind: objects.kind } };
  },
});
