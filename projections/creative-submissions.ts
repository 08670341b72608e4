import { CREATIVE } from '../domain/creatives/creative.ts';
import { creativeEvents, type CreativeEvent } from '../domain/creatives/events.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';
import { UUID_STREAM } from './folded-rows.ts';

/**
 * Rows are never deleted: a seller that received a creative may always review it. Not part of `creatives`: in
 * a rolling restart, an older program without sellers would advance that checkpoint without these rows.
 */
export const creativeSubmissionsProjection: Projection = {
  name: 'creative-submissions',
  categories: [CREATIVE],
  rowEvents: { categories: [CREATIVE], types: ['CreativeSubmitted'] },
  tables: ['creative_submissions'],
  apply: async (client, events) => {
    const submissions = events.flatMap(submissionsOf);
    if (submissions.length === 0) return;
    await client.query({
      name: 'creative-submissions-insert',
      text: `insert into creative_submissions (seller_id, creative_id, customer_id)
             select * from unnest($1::int[], $2::uuid[], $3::bigint[]) on conflict do nothing`,
      values: [
        int4Array(submissions.map(({ sellerId }) => sellerId)),
        uuidArray(submissions.map(({ creativeId }) => creativeId)),
        int8Array(submissions.map(({ customerId }) => customerId)),
      ],
    });
  },
};

interface Submission {
  readonly sellerId: number;
  readonly creativeId: string;
  readonly customerId: number;
}

const submissionsOf = (event: RecordedEvent): readonly Submission[] => {
  if (event.type !== 'CreativeSubmitted') return [];
  const [, customerId, creativeId] = UUID_STREAM.exec(event.stream) ?? [];
  if (customerId === undefined || creativeId === undefined) {
    throw new UnprojectableEventError(event, 'the stream is not that of a creative');
  }
  const { data } = decodeEvent(event, creativeEvents) as Extract<CreativeEvent, { type: typeof event.type }>;
  return data.sellerIds.map((sellerId) => ({ sellerId, creativeId, customerId: Number(customerId) }));
};
