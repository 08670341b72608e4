import type { StoredAsset } from '../../domain/assets/resource.ts';
import type { Campaign } from '../../domain/campaigns/resource.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import { runSql } from './bench-database.ts';
import { withoutIndexes } from './without-indexes.ts';

/** The id and the time in a template row. */
const ID = '00000000-0000-4000-8000-0123456789ab';
const AT = '2026-01-01T00:00:00.000Z';
const dated = { createdAt: AT, updatedAt: AT };

interface Owner {
  readonly customerId: number;
  readonly advertiserId: number;
}

interface FilledTable {
  readonly table: string;
  /** SQL for the searchable columns of row `n`. */
  readonly columns: Readonly<Record<string, string>>;
  readonly body: Campaign | Creative | StoredAsset;
  /** SQL that counts the rows. */
  readonly counts: string;
}

/** For each filter, one row in twenty has another value. */
const mostly = (usual: string, other: string, n: number): string =>
  `case when n % 20 = ${n} then ${other} else ${usual} end`;

const tablesOf = (owner: Owner): readonly FilledTable[] => [
  {
    table: 'campaigns',
    columns: { phase: mostly(`'active'`, `'paused'`, 1), archived: 'false', ends_at: `'infinity'` },
    body: {
      campaignId: ID,
      ...owner,
      name: 'Spring',
      phase: 'active',
      currency: 'USD',
      revision: 1,
      ...dated,
    },
    counts: `insert into campaign_counts (customer_id, advertiser_id, phase, archived, count)
      select customer_id, whose, phase, archived, count(*)
      from campaigns, unnest(array[0, advertiser_id]) whose group by 1, 2, 3, 4`,
  },
  {
    table: 'creatives',
    columns: {
      archived: 'false',
      role: mostly(`'evergreen'`, `''`, 2),
      promoted: mostly('true', 'false', 2),
      source: mostly(`'uploaded'`, `'generated'`, 3),
      format_kind: mostly(`'image'`, `'html5'`, 4),
      name: `'Hero ' || n`,
    },
    body: {
      creativeId: ID,
      ...owner,
      name: 'Hero',
      state: 'ready',
      formatKind: 'image',
      slots: [{ slotId: 'main', kind: 'text', value: 'Every day' }],
      copy: { headline: 'Every day' },
      trackers: {},
      carouselCards: [],
      role: 'evergreen',
      promoted: true,
      source: 'uploaded',
      campaignIds: [],
      frequencyCaps: [],
      revision: 1,
      ...dated,
    },
    counts: `insert into creative_counts (customer_id, advertiser_id, role, promoted, source, format_kind, count)
      select customer_id, advertiser_id, role, promoted, source, format_kind, count(*)
      from creatives group by 1, 2, 3, 4, 5, 6`,
  },
  {
    table: 'assets',
    columns: {
      status: `'READY'`,
      media_kind: mostly(`'image'`, `'video'`, 5),
      source: mostly(`'uploaded'`, `'generated'`, 6),
      name: `'Hero ' || n`,
      expires_at: `'infinity'`,
    },
    body: {
      assetId: ID,
      ...owner,
      name: 'Hero',
      mimeType: 'image/png',
      mediaKind: 'image',
      source: 'uploaded',
      bytesMax: 1_000,
      expiresAt: AT,
      storageKey: ID,
      bytes: 1_000,
      sha256: '00'.repeat(32),
      status: 'READY',
      ...dated,
    },
    counts: `insert into asset_counts (customer_id, advertiser_id, media_kind, source, count)
      select customer_id, advertiser_id, media_kind, source, count(*) from assets group by 1, 2, 3, 4`,
  },
];

/**
 * Writes the rows of one advertiser's campaigns, creatives and assets as their projections would, `count` of each, one
 * every 37 ms.
 */
export const fillLists = async (url: string, owner: Owner, count: number): Promise<void> => {
  for (const { table, columns, body, counts } of tablesOf(owner)) {
    const template = `'${JSON.stringify(body).replaceAll("'", "''")}'`;
    await withoutIndexes(
      url,
      table,
      `insert into ${table} (customer_id, advertiser_id, id, revision, created_at, body, ${Object.keys(columns).join(', ')})
       select ${owner.customerId}, ${owner.advertiserId}, id, 0, at,
         replace(replace(${template}, '${ID}', id::text), '${AT}',
           to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
         ${Object.values(columns).join(', ')}
       from (select n, gen_random_uuid() as id, timestamptz '${AT}' + n * interval '37 milliseconds' as at
             from generate_series(1, ${count}) n) new`,
      counts,
    );
  }
  await runSql(url, 'vacuum analyze');
};
