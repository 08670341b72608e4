import type { Pool } from 'pg';
import { coalesce } from '../../shared/coalesce.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';

export interface AdvertiserKey {
  readonly customerId: number;
  readonly id: number;
  /** Its stream in the log. */
  readonly stream: string;
}

export interface DetailRow extends Freshness {
  /** Null when there is none. */
  readonly body: string | null;
  /** The read model leaves the stream out: the row, if there is one, is what it was before. */
  readonly parked: boolean;
}

/** Advertisers by id; those that are asked for together come in one round trip. */
export const getAdvertisers = (
  pool: Pick<Pool, 'query'>,
  projection: string,
): ((key: AdvertiserKey) => Promise<DetailRow>) =>
  coalesce(
    async (keys: readonly AdvertiserKey[]): Promise<readonly DetailRow[]> => {
      const { rows } = await pool.query<DetailRow>({
        name: 'get-advertisers',
        text: `select ${freshnessColumns('f')},
                 (select a.body from advertisers a where a.customer_id = asked.customer_id and a.id = asked.id) as body,
                 exists (select from parked_streams p where p.projection = $3 and p.stream = asked.stream) as parked
               from unnest($1::bigint[], $2::int[], $4::text[]) with ordinality as asked(customer_id, id, stream, n),
                 lateral ${freshnessSql('asked.customer_id', '$3')} f
               order by n`,
        values: [
          keys.map(({ customerId }) => customerId),
          keys.map(({ id }) => id),
          projection,
          keys.map(({ stream }) => stream),
        ],
      });
      return rows;
    },
    { batchMax: 100, inFlightMax: 2 },
  );

/** The highest id among an account's advertisers, 0 when it has none. */
export const highestAdvertiserId = async (pool: Pick<Pool, 'query'>, customerId: number): Promise<number> => {
  const { rows } = await pool.query<{ id: number }>(
    'select coalesce(max(id), 0)::int as id from advertisers where customer_id = $1',
    [customerId],
  );
  return rows[0]?.id ?? 0;
};
