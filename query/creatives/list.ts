import type { Creative, CreativeResource } from '../../domain/creatives/resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { contains, equal, listPage, type FoundPage, type List, type Page } from '../resources/list-page.ts';

export interface CreativeReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export const CREATIVES = 'creatives';

export interface CreativePage {
  readonly creatives: readonly Creative[] | undefined;
  readonly total: number;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

const pageOfRow = ({ known, items, total }: FoundPage): CreativePage => ({
  creatives: known ? (JSON.parse(items) as readonly Creative[]) : undefined,
  total,
});

const bodies = `coalesce('[' || string_agg(c.body, ',' order by c.created_at desc, c.id desc) || ']', '[]')`;

/** Scans the campaign's creatives, at most 1,000. @throws ReadModelBehindError */
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
  readonly search?: string | undefined;
}

const library: List = {
  readModel: CREATIVES,
  table: 'creatives',
  at: 'created_at',
  counts: 'creative_counts',
  listed: 'not archived',
};

export const listLibraryCreatives = async (
  reads: CreativeReads,
  customerId: number,
  advertiserId: number,
  { role, promoted, source, formatKind, search }: LibraryFilters,
  page: Page,
): Promise<CreativePage> => {
  const filters = [
    ...equal('role', role),
    ...equal('source', source),
    ...equal('format_kind', formatKind),
    ...equal('promoted', promoted),
    ...contains('name', search),
  ];
  return pageOfRow(await listPage(reads, library, { customerId, advertiserId }, filters, page));
};
