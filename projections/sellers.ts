import type { ClientBase } from 'pg';
import { CAMPAIGN } from '../domain/campaigns/campaign.ts';
import { CREATIVE } from '../domain/creatives/creative.ts';
import {
  CHANGED_CREATIVE,
  LAUNCHED_CAMPAIGN,
  SUBMISSION,
  isSubmissionOccasion,
} from '../domain/creatives/work.ts';
import { SELLERS } from '../domain/sellers/seller-directory.ts';
import { sellerEvents, type SellerEvent } from '../domain/sellers/events.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';
import { requestWork, type WorkRequest } from '../shared/work-list/request-work.ts';
import { decodeEvent } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';

/** Its list of submissions only names candidates: the worker decides by the streams. */
export const sellersProjection: Projection = {
  name: 'sellers',
  categories: [SELLERS, CAMPAIGN, CREATIVE],
  rowEvents: { categories: [SELLERS] },
  tables: ['sellers'],
  work: [LAUNCHED_CAMPAIGN, CHANGED_CREATIVE, SUBMISSION],
  apply: async (client, events, purpose) => {
    await writeSellers(
      client,
      events.filter(({ stream }) => categoryOf(stream) === SELLERS),
    );
    if (purpose !== 'rows') await listWork(client, events);
  },
};

const writeSellers = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  // The last event of each seller: every event contains the whole seller.
  const latest = new Map(
    events.map((event) => {
      const { data } = decodeEvent(event, sellerEvents) as SellerEvent;
      return [data.sellerId, { data, revision: event.revision }];
    }),
  );
  if (latest.size === 0) return;
  const rows = [...latest.values()];
  await client.query({
    name: 'sellers-write',
    text: `insert into sellers as s (seller_id, revision, body)
           select * from unnest($1::int[], $2::bigint[], $3::text[])
           on conflict (seller_id) do update set revision = excluded.revision, body = excluded.body
             where s.revision < excluded.revision`,
    values: [
      int4Array(rows.map(({ data }) => data.sellerId)),
      int8Array(rows.map(({ revision }) => revision)),
      textArray(rows.map(({ data }) => JSON.stringify(data))),
    ],
  });
};

const STREAM = /^(campaign|creative)-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const listWork = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  const occasions = new Map<string, WorkRequest & { readonly of: string }>();
  for (const { stream, position } of events.filter(isSubmissionOccasion)) {
    const [, of, customerId, key] = STREAM.exec(stream) ?? [];
    if (of === undefined || key === undefined) continue;
    // The first event that no worker has looked at yet.
    const data = occasions.get(stream)?.data ?? { since: position };
    occasions.set(stream, { of, customerId: Number(customerId), key, revision: position, data });
  }
  for (const [of, kind] of [
    [CAMPAIGN, LAUNCHED_CAMPAIGN],
    [CREATIVE, CHANGED_CREATIVE],
  ] as const) {
    await requestWork(
      client,
      kind,
      [...occasions.values()].filter((occasion) => occasion.of === of),
      { keepsData: true },
    );
  }
};
