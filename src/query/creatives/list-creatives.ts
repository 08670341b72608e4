import {
  assetIdsOf,
  type Creative,
  type CreativeResource,
} from '../../domain/creatives/creative-resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  freshnessSql,
  keptMark,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { NO_UUID, pageKeysSql, type PageBlocks } from '../resources/page-keys.ts';

export interface CreativeReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export const CREATIVES = 'creatives';

interface Page {
  readonly skip: number;
  readonly take: number;
}

export interface CreativePage {
  /** Undefined when there is no such campaign or advertiser. */
  readonly creatives: readonly Creative[] | undefined;
  readonly total: number;
  /** To be kept with it; undefined: not to be kept. */
  readonly mark: string | undefined;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

const pageOfRow = (row: ListRow): CreativePage => ({
  creatives: row.known ? (JSON.parse(row.items) as readonly Creative[]) : undefined,
  total: row.total,
  mark: keptMark(row),
});

const bodies = `coalesce('[' || string_agg(c.body, ',' order by c.created_at desc, c.id desc) || ']', '[]')`;

/**
 * One page of a campaign's creatives, newest first. They are counted and searched one by one: a campaign has 1,000 at
 * most.
 * @param campaignId UUID
 * @param search case-insensitive part of the name
 * @throws ReadModelBehindError
 */
export const listCampaignCreatives = async (
  { database, progress }: CreativeReads,
  customerId: number,
  campaignId: string,
  search: string | undefined,
  { skip, take }: Page,
): Promise<CreativePage> => {
  const found = `creative_campaigns l join creatives c on c.customer_id = $1 and c.id = l.creative_id
    where l.customer_id = $1 and l.campaign_id = $4 and not l.archived
    ${search === undefined ? '' : 'and position(lower($7::text) in lower(c.name)) > 0'}`;
  const row = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: CREATIVES,
    progress,
    query: {
      name: `list-campaign-creatives${search === undefined ? '' : '-search'}`,
      text: `select ${freshnessColumns('f')}, page.items,
               exists (select from campaigns a where a.customer_id = $1 and a.id = $4) as known,
               (select count(*)::float8 from ${found}) as total
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, lateral (
               select ${bodies} as items
               from (select c.body, l.created_at, c.id from ${found}
                     order by l.created_at desc, l.creative_id desc limit $5 offset $6) c
             ) page`,
      values: [
        customerId,
        CREATIVES,
        'campaigns',
        campaignId,
        take,
        skip,
        ...(search === undefined ? [] : [search]),
      ],
    },
  });
  return pageOfRow(row);
};

export interface LibraryFilters {
  readonly role?: CreativeResource['role'];
  readonly promoted?: boolean | undefined;
  readonly source?: Creative['source'] | undefined;
  readonly formatKind?: Creative['formatKind'] | undefined;
  /** Case-insensitive part of the name. */
  readonly search?: string | undefined;
}

/**
 * One page of an advertiser's creatives, newest first, without the archived ones. Totals are kept by the projection; only a
 * search looks at the library's names.
 * @throws ReadModelBehindError
 */
export const listLibraryCreatives = async (
  { database, progress }: CreativeReads,
  customerId: number,
  advertiserId: number,
  filters: LibraryFilters,
  { skip, take }: Page,
): Promise<CreativePage> => {
  const values: unknown[] = [customerId, CREATIVES, 'advertisers', advertiserId, take, skip];
  const { where, counted, kinds, variant } = conditionsOf(filters, (value) => `$${values.push(value)}`);
  const total =
    filters.search === undefined
      ? `(select coalesce(sum(count), 0) from creative_counts where ${counted})`
      : `(select count(*) from creatives where ${where})`;
  const keys = pageKeysSql({
    table: CREATIVES,
    where,
    take: '$5',
    skip: '$6',
    total: 'counted.total',
    ...(filters.search === undefined && {
      blocks: { table: 'creative_blocks', advertiserId: '$4', ...kinds, projection: '$2', noId: NO_UUID },
    }),
  });
  const row = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: CREATIVES,
    progress,
    query: {
      name: `list-library-creatives${variant}`,
      text: `with counted as materialized (select ${total}::float8 as total)
             select ${freshnessColumns('f')}, counted.total, page.items,
               exists (select from advertisers a where a.customer_id = $1 and a.id = $4) as known
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, counted, lateral (
               select ${bodies} as items
               from (${keys}) keys
               join creatives c on c.customer_id = $1 and c.id = keys.id
             ) page`,
      values,
    },
  });
  return pageOfRow(row);
};

interface Conditions {
  readonly where: string;
  readonly counted: string;
  readonly kinds: Pick<PageBlocks, 'kind' | 'kinds'>;
  readonly variant: string;
}

/** SQL of the filters, one text for each set of them, so that each gets its index. */
const conditionsOf = (
  { role, promoted, source, formatKind, search }: LibraryFilters,
  parameter: (value: unknown) => string,
): Conditions => {
  const mine = ['customer_id = $1', 'advertiser_id = $4'];
  const [rows, counts, variant]: [string[], string[], string[]] = [[...mine, 'not archived'], [...mine], []];
  const kinds: string[] = [];
  const add = (column: string, { row, count, kind }: { row: string; count: string; kind: string }): void => {
    rows.push(`${column} = ${row}`);
    counts.push(`${column} = ${count}`);
    kinds.push(kind);
    variant.push(`-${column}`);
  };
  if (role !== undefined) {
    const value = parameter(role);
    add('role', { row: value, count: value, kind: `${value} || '///'` });
  }
  if (source !== undefined) {
    const value = parameter(source);
    add('source', { row: value, count: value, kind: `'//' || ${value} || '/'` });
  }
  if (formatKind !== undefined) {
    const value = parameter(formatKind);
    add('format_kind', { row: value, count: value, kind: `'///' || ${value}` });
  }
  if (promoted !== undefined) {
    const value = parameter(promoted);
    const count = `${value}::boolean::text`;
    add('promoted', { row: value, count, kind: `'/' || ${count} || '//'` });
  }
  if (search !== undefined) {
    rows.push(`position(lower(${parameter(search)}::text) in lower(name)) > 0`);
    variant.push('-search');
  }
  const counted = counts.join(' and ');
  return { where: rows.join(' and '), counted, kinds: kindsOf(kinds, counted), variant: variant.join('') };
};

/** One filter has a kind of its own; several are the groups of counts that they name. */
const kindsOf = ([only, ...more]: readonly string[], counted: string): Conditions['kinds'] => {
  if (only === undefined) return {};
  if (more.length === 0) return { kind: only };
  const group = `role || '/' || promoted || '/' || source || '/' || format_kind`;
  return { kinds: `select ${group} from creative_counts where ${counted} and count > 0` };
};

interface UseReads extends CreativeReads {
  /** A creative as its stream says. */
  readonly foldCreative: (customerId: number, creativeId: string) => Promise<Creative | undefined>;
}

interface UseRow extends Freshness {
  readonly used: boolean;
  /** Streams of the account that the read model leaves out. */
  readonly parked: readonly string[];
}

const UUID_LENGTH = 36;

/**
 * Whether a live creative uses an asset. Of streams that are parked the read model knows nothing, or what was before:
 * they are asked themselves, one after the other, since they are few.
 * @param assetId as it is shown
 * @throws ReadModelBehindError
 */
export const isAssetInUse = async (
  { database, progress, foldCreative }: UseReads,
  customerId: number,
  assetId: string,
): Promise<boolean> => {
  const { used, parked } = await consistentRead<UseRow>({
    pool: boundTo(database, customerId),
    projection: CREATIVES,
    progress,
    query: {
      name: 'asset-in-use',
      text: `select ${freshnessColumns('f')},
               exists (select from creative_assets a where a.customer_id = $1 and a.asset_id = $3) as used,
               array(select p.stream from parked_streams p
                     where p.projection = $2 and p.customer_id = $1) as parked
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, CREATIVES, assetId],
    },
  });
  if (used) return true;
  for (const stream of parked) {
    const creative = await foldCreative(customerId, stream.slice(-UUID_LENGTH));
    if (creative === undefined || creative.state === 'archived') continue;
    if (assetIdsOf(creative).includes(assetId)) return true;
  }
  return false;
};
