import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead, ReadModelBehindError } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';

interface Reads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

/** A read model of one row for each stream, with the columns `customer_id`, `id` (UUID) and `body`. */
export interface RowSource<State> {
  readonly readModel: string;
  readonly table: string;
  /** The name of the stream that the row is made of. */
  readonly streamOf: (customerId: number, id: string) => string;
  /** What the stream says: for the moment when the read model is behind, or leaves the stream out. */
  readonly fold: (customerId: number, id: string) => Promise<State | undefined>;
}

/**
 * What a row holds, with all that its account has written; undefined when there is none.
 * @param id UUID
 */
export const getRow = async <State>(
  { database, progress }: Reads,
  { readModel, table, streamOf, fold }: RowSource<State>,
  customerId: number,
  id: string,
): Promise<State | undefined> => {
  const query = {
    name: `get-${table}`,
    text: `select ${freshnessColumns('f')},
             (select t.body from ${table} t where t.customer_id = $1 and t.id = $3) as body,
             exists (select from parked_streams p where p.projection = $2 and p.stream = $4) as parked
           from ${freshnessSql('$1', '$2')} f`,
    values: [customerId, readModel, id, streamOf(customerId, id)],
  };
  const pool = boundTo(database, customerId);
  try {
    const row = await consistentRead<Freshness & { readonly body: string | null; readonly parked: boolean }>({
      pool,
      projection: readModel,
      progress,
      query,
    });
    if (!row.parked) return row.body === null ? undefined : (JSON.parse(row.body) as State);
  } catch (error) {
    if (!(error instanceof ReadModelBehindError)) throw error;
  }
  return fold(customerId, id);
};
