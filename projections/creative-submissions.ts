import { CREATIVE } from '../domain/creatives/creative.ts';
import { creativeEvents, type CreativeEvent } from '../domain/creatives/creative-events.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';

/**
 * Which creatives were ever submitted to a seller, and whose they are. A seller that has a creative once may always say
 * something of it: no row ever goes, so an event that comes again changes nothing.
 *
 * Not part of the read model `creatives`: programs without accounts of sellers follow that one, too. Where they take
 * turns with this one during a restart of process after process, what was submitted meanwhile would be missing for good.
 */
export const creativeSubmissionsProjection: Projection = {
  name: 'creative-submissions',
  categories: [CREATIVE],
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

const STREAM = /^[^-]+-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const submissionsOf = (event: RecordedEvent): readonly Submission[] => {
  if (event.type !== 'CreativeSubmitted') return [];
  const [, customerId, creativeId] = STREAM.exec(event.stream) ?? [];
  if (customerId === undefined || creativeId === undefined) {
    throw new UnprojectableEventError(event, 'the stream is not that of a creative');
  }
  const { data } = decodeEvent(event, creativeEvents) as Extract<CreativeEvent, { type: typeof event.type }>;
  return data.sellerIds.map((sellerId) => ({ sellerId, creativeId, customerId: Number(customerId) }));
};
