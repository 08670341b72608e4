import {
  findResources,
  type ResourceReads,
  type ResourceTable,
} from '../../query/resources/resource-reads.ts';

/** A sync limits their number. @throws ReadModelBehindError */
export const findActiveKeys = async (
  reads: ResourceReads,
  { readModel, table }: ResourceTable,
  customerId: number,
  advertiserId: number,
): Promise<readonly string[]> => {
  const body = `json_build_object('key', r.key)::text`;
  const items = await findResources<{ readonly key: string }>(reads, { readModel, table, body }, customerId, {
    name: 'active-keys',
    sql: (parameter) => `r.advertiser_id = ${parameter} and r.status = 'ACTIVE'`,
    value: advertiserId,
  });
  return items.map(({ key }) => key);
};
