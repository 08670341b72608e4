import type { Pool } from 'pg';

type Database = Pick<Pool, 'query'>;

export interface StoredSecret {
  readonly customerId: number;
  readonly id: string;
  readonly kind: string;
  readonly ownerId: string;
  /** Text keeps the microseconds. */
  readonly createdAt: string;
  /** Its event may still be missing. */
  readonly isNew: boolean;
}

/** Longer than any request: the event that refers to a secret is written within this time or never. */
const NEW = "interval '1 hour'";

export const secretsAfter = async (
  pool: Database,
  after: Pick<StoredSecret, 'customerId' | 'id'>,
  rowsMax: number,
): Promise<readonly StoredSecret[]> => {
  const { rows } = await pool.query<StoredSecret>(
    `select customer_id::float8 as "customerId", id, created_at::text as "createdAt", owner_kind as kind,
       owner_id as "ownerId", created_at >= now() - ${NEW} as "isNew"
     from secrets where (customer_id, id) > ($1::bigint, $2::uuid) order by customer_id, id limit $3`,
    [after.customerId, after.id, rowsMax],
  );
  return rows;
};

/** Keeps a secret that was stored again meanwhile. @returns the number of deleted rows */
export const deleteStoredSecret = async (
  pool: Database,
  { customerId, id, createdAt }: StoredSecret,
): Promise<number> => {
  const { rowCount } = await pool.query(
    `delete from secrets where customer_id = $1 and id = $2 and created_at = $3::timestamptz`,
    [customerId, id, createdAt],
  );
  return rowCount ?? 0;
};
