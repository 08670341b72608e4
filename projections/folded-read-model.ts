import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './kept-counts.ts';

interface FoldedReadModel<State, Live extends State & { readonly customerId: number }> extends FoldedTable<
  State,
  Live
> {
  readonly name: string;
  /** Keeps how many rows there are for each value of these columns: totals of lists come from it. */
  readonly counts?: { readonly table: string; readonly by: readonly string[] } & Pick<
    CountTable<Live>,
    'counted'
  >;
}

/** A read model of one row for each stream: its folded state as JSON text, and what it is found by. */
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
    ...(counts && { compared: { [counts.table]: keptCounts } }),
    apply: async (client, events) => {
      const changes = await applyFolded(client, table, events);
      if (counts !== undefined) await addCounts(client, counts, changes);
    },
  };
};
