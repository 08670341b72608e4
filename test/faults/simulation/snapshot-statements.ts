import type { Statement } from './statement.ts';

/** The statements of src/shared/command/snapshots.ts on the table `snapshots`. */
export const snapshotStatements: readonly Statement[] = [
  {
    is: 'snapshot-load',
    run: ({ snapshots }, [stream]) => [snapshots.get(String(stream)) ?? []].flat(),
  },
  {
    is: 'snapshot-save',
    run: ({ snapshots }, [stream, , revision, state]) => {
      const kept = snapshots.get(String(stream));
      if (kept !== undefined && Number(kept['revision']) >= Number(revision)) return 0;
      snapshots.set(String(stream), { revision, state });
      return 1;
    },
  },
];
