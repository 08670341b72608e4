import { nonZeroCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './count-rows.ts';

interface FoldedReadModel<State, Live extends State & { readonly customerId: number }> extends FoldedTable<
  State,
  Live
> {
  readonly name: string;
  readonly counts?: { readonly table: string; readonly by: readonly string[] } & Pick<
    CountTable<Live>,
    'counted'
  >;
}

/** One row for each stream: the folded state as JSON text, and columns derived from it. */
export const foldedReadModel = <State, Live extends State & { readonly customerId: number }>({
  name,
  counts: counted,
  ...table
}: FoldedReadModel<State, Live>): Projection => {
  const counts = counted && { ...counted, columns: countedBy(table, ...counted.by) };
  return {
    name,
    categories: [table.category],
    tables: [table.table, ...(counts === undefined ? [] : [counts.table])],
    ...(counts && { compared: { [counts.table]: nonZeroCounts } }),
    apply: async (client, events) => {
      const changes = await applyFolded(client, table, events);
      if (counts !== undefined) await addCounts(client, counts, changes);
    },
  };
};
