import type { Statement } from './statement.ts';

/** The statements of shared/aggregate/snapshots.ts on the table `snapshots`. */
export const snapshotStatements: readonly Statement[] = [
  {
    is: 'snapshot-load',
    run: ({ snapshots }, [stream]) => [snapshots.get(String(stream)) ?? []].flat(),
  },
  {
    is: 'snapshot-save',
    run: ({ snapshots }, [stream, , revision, position, state]) => {
      const kept = snapshots.get(String(stream));
      if (kept !== undefined && Number(kept['revision']) >= Number(revision)) return 0;
      snapshots.set(String(stream), { revision, position, state });
      return 1;
    },
  },
];
