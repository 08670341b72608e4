import {
  builtInSellers,
  withSellers,
  type Seller,
  type SellerDirectory,
} from '../../domain/sellers/resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessWithInstallationSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

export interface SellerReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export const SELLERS = 'sellers';
export const SUBMISSIONS = 'creative-submissions';

/** Depends on the installation's writes, too (`freshnessWithInstallationSql`). @param where on `s` */
export const sellersSql = (where: string): string =>
  `(select coalesce('[' || string_agg(s.body, ',') || ']', '[]') from sellers s where ${where})`;

export const directoryOf = (found: string): SellerDirectory =>
  withSellers(builtInSellers, JSON.parse(found) as readonly Seller[]);

/** At most 200. Reads the operators' writes. @throws ReadModelBehindError */
export const readDirectory = async (
  { database, progress }: SellerReads,
  customerId: number,
): Promise<SellerDirectory> => {
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: SELLERS,
    progress,
    query: {
      name: 'read-directory',
      text: `select ${freshnessColumns('f')}, ${sellersSql('true')} as items
             from ${freshnessWithInstallationSql('$1', ['$2'])} f`,
      values: [customerId, SELLERS],
    },
  });
  return directoryOf(items);
};
