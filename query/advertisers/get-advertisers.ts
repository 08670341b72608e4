import { coalesce } from '../../shared/async/coalesce.ts';
import { int4Array, textArray } from '../../shared/postgres/binary-array.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
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

/** Of one account: each transaction sees the rows of its own account only (docs/access.md). */
const statement = {
  name: 'get-advertisers',
  text: `select ${freshnessColumns('f')},
           (select a.body from advertisers a where a.customer_id = $1 and a.id = asked.id) as body,
           exists (select from parked_streams p where p.projection = $2 and p.stream = asked.stream) as parked
         from ${freshnessSql('$1', '$2')} f,
           unnest($3::int[], $4::text[]) with ordinality as asked(id, stream, n)
         order by n`,
};

const byAccount = (keys: readonly AdvertiserKey[]): Map<number, AdvertiserKey[]> => {
  const accounts = new Map<number, AdvertiserKey[]>();
  for (const key of keys) {
    const asked = accounts.get(key.customerId);
    if (asked === undefined) accounts.set(key.customerId, [key]);
    else asked.push(key);
  }
  return accounts;
};

/** Advertisers by id; those that are asked for together come in one round trip. */
export const getAdvertisers = (
  database: TenantDatabase,
  projection: string,
): ((key: AdvertiserKey) => Promise<DetailRow>) =>
  coalesce(
    async (keys: readonly AdvertiserKey[]): Promise<readonly DetailRow[]> => {
      const accounts = [...byAccount(keys)];
      const answers = await database.queryEach<DetailRow>(
        statement,
        accounts.map(([customerId, asked]) => ({
          customerId,
          values: [
            customerId,
            projection,
            int4Array(asked.map(({ id }) => id)),
            textArray(asked.map(({ stream }) => stream)),
          ],
        })),
      );
      const rows = new Map<AdvertiserKey, DetailRow>();
      accounts.forEach(([, asked], account) =>
        asked.forEach((key, n) => rows.set(key, answers[account]?.[n] as DetailRow)),
      );
      return keys.map((key) => rows.get(key) as DetailRow);
    },
    { batchMax: 100, inFlightMax: 2 },
  );

/** The highest id among an account's advertisers, 0 when it has none. */
export const highestAdvertiserId = async (database: TenantDatabase, customerId: number): Promise<number> => {
  const [row] = await database.query<{ id: number }>(customerId, {
    name: 'highest-advertiser-id',
    text: 'select coalesce(max(id), 0)::int as id from advertisers where customer_id = $1',
    values: [customerId],
  });
  return row?.id ?? 0;
};
