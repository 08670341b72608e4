import type { AskDatabase } from './handler.ts';

/** Recorded before an object is written or deleted, so that the sweep finds what a crash leaves behind. */
export interface ObjectAttempts {
  begin(attempt: ObjectAttempt): Promise<void>;
  end(storageKey: string): Promise<void>;
  unsettled(after: UnsettledAttempt | undefined, rowsMax: number): Promise<readonly UnsettledAttempt[]>;
}

export interface ObjectAttempt {
  readonly customerId: number;
  readonly assetId: string;
  readonly storageKey: string;
}

export interface UnsettledAttempt extends ObjectAttempt {
  readonly begunAt: string;
}

/** Longer than any request lasts, even with clock skew. */
const SETTLED_HOURS = 24;

export const createObjectAttempts = (pool: AskDatabase): ObjectAttempts => ({
  begin: async ({ customerId, assetId, storageKey }) => {
    await pool.query({
      name: 'object-attempt-begin',
      text: `insert into asset_objects (customer_id, asset_id, storage_key) values ($1, $2, $3)
             on conflict (storage_key) do update set begun_at = excluded.begun_at`,
      values: [customerId, assetId, storageKey],
    });
  },
  end: async (storageKey) => {
    await pool.query({
      name: 'object-attempt-end',
      // Asynchronous commit: if a power failure loses the deletion, the sweep repeats it.
      text: `with lazily as (select set_config('synchronous_commit', 'off', true))
             delete from asset_objects using lazily where storage_key = $1`,
      values: [storageKey],
    });
  },
  unsettled: async (after, rowsMax) => {
    const { rows } = await pool.query<UnsettledAttempt>({
      name: 'object-attempts-unsettled',
      text: `select customer_id::float8 as "customerId", asset_id as "assetId", storage_key as "storageKey",
               begun_at::text as "begunAt"
             from asset_objects where begun_at < now() - interval '${SETTLED_HOURS} hours'
               and (begun_at, storage_key) > ($1::timestamptz, $2)
             order by begun_at, storage_key limit $3`,
      values: [after?.begunAt ?? '-infinity', after?.storageKey ?? '', rowsMax],
    });
    return rows;
  },
});
