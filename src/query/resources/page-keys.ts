/** SQL expressions of a page; each may be a parameter. */
export interface PageSql {
  readonly table: string;
  /** Conditions that an index of the table answers, with `created_at, id` behind them. */
  readonly where: string;
  readonly take: string;
  readonly skip: string;
  /** How many rows fit the conditions. */
  readonly total: string;
}

/**
 * SQL of the ids of one page, newest first, counted from the end of the list that is nearer: of the two scans one has a
 * limit of 0 and does nothing. So the last pages cost what the first ones do; the cost grows towards the middle of the
 * list, where it is that of half an index scan (docs/performance.md).
 */
export const pageKeysSql = ({ table, where, ...page }: PageSql): string => {
  const [take, skip, total] = [`${page.take}::bigint`, `${page.skip}::bigint`, `${page.total}::bigint`];
  const returned = `least(${take}, greatest(${total} - ${skip}, 0))`;
  const isNearStart = `${skip} <= ${total} / 2`;
  return `
    (select id from ${table} where ${where} order by created_at desc, id desc
     limit case when ${isNearStart} then ${returned} else 0 end offset ${skip})
    union all
    (select id from ${table} where ${where} order by created_at, id
     limit case when ${isNearStart} then 0 else ${returned} end offset greatest(${total} - ${skip} - ${take}, 0))`;
};
