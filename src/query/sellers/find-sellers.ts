import {
  builtInSellers,
  withSellers,
  type Seller,
  type SellerDirectory,
} from '../../domain/sellers/seller-resource.ts';
import { int4Array } from '../../shared/postgres/binary-array.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';

export interface SellerReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

const SELLERS = 'sellers';

const read = async (
  { database, progress }: SellerReads,
  customerId: number,
  query: { readonly name: string; readonly where: string; readonly values: readonly unknown[] },
): Promise<SellerDirectory> => {
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: SELLERS,
    progress,
    query: {
      name: query.name,
      text: `select ${freshnessColumns('f')},
               (select coalesce('[' || string_agg(s.body, ',') || ']', '[]') from sellers s where ${query.where})
                 as items
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, SELLERS, ...query.values],
    },
  });
  return withSellers(builtInSellers, JSON.parse(items) as readonly Seller[]);
};

/**
 * The whole directory: 200 sellers at most.
 * @throws ReadModelBehindError
 */
export const readDirectory = (reads: SellerReads, customerId: number): Promise<SellerDirectory> =>
  read(reads, customerId, { name: 'read-directory', where: 'true', values: [] });

/**
 * These sellers, with all of them that were there when the account last wrote anything: whoever a creative was submitted
 * to is among them.
 * @throws ReadModelBehindError
 */
export const findSellers = (
  reads: SellerReads,
  customerId: number,
  sellerIds: readonly number[],
): Promise<SellerDirectory> =>
  read(reads, customerId, {
    name: 'find-sellers',
    where: 's.seller_id = any($3::int[])',
    values: [int4Array(sellerIds)],
  });
