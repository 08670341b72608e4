import { Client } from 'pg';
import { AUDIENCE_BATCH } from '../../domain/audiences/audience.ts';
import { SELLER_DELIVERY_DAY } from '../../domain/reporting/seller-delivery.ts';
import { categoryOf, START, type RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { goldenHistory } from '../golden/golden-files.ts';
import { goldenStore } from '../golden/golden-keys.ts';

const STEP = 5_000;
/** Accounts and sellers of two successive copies differ by this number. The history has fewer of them. */
const APART = 100;
const SELLER_OF_DELIVERY = new RegExp(String.raw`(?<=^${SELLER_DELIVERY_DAY}-\d+-)\d+`);

/** The golden history with decrypted personal data. */
const openedHistory = async (): Promise<readonly RecordedEvent[]> => {
  const memory = createMemoryEventStore();
  for (const event of goldenHistory()) await memory.append(event.stream, [event], 'any');
  const events = await goldenStore(memory).readAll({ after: START, limit: 10_000 });
  await memory.close();
  return events;
};

/** The event in the n-th copy of the history: each id, account and seller gets another value. */
const copied = ({ stream, id, type, data, metadata }: RecordedEvent, n: number): readonly string[] => {
  const other = (number: string): number => (number === '0' ? 0 : Number(number) + n * APART);
  return [
    stream
      .replace(/^([^-]+-)(\d+)/, (_, category: string, account: string) => category + other(account))
      .replace(SELLER_OF_DELIVERY, (seller) => String(other(seller))),
  ]
    .concat(id, type, JSON.stringify(data), JSON.stringify(metadata))
    .map((text) =>
      text
        .replace(/\b[0-9a-f]{8}(?=(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)/g, (word) =>
          ((Number.parseInt(word, 16) ^ n) >>> 0).toString(16).padStart(8, '0'),
        )
        .replace(
          /("customerId":|"sellerId":|"sellerIds":\[)(\d+)/g,
          (_, name: string, number: string) => name + other(number),
        ),
    );
};

/**
 * Writes at least `count` events of some categories directly into an empty log: copies of the golden history, which has
 * events of every kind. All copies of one event come before the next event, so that neighbours in the log belong to
 * different streams.
 * @returns the number of events
 */
export const fillLogWithAllKinds = async (
  url: string,
  categories: readonly string[],
  count: number,
): Promise<number> => {
  const wanted = (await openedHistory()).filter(({ stream }) => categories.includes(categoryOf(stream)));
  // Members are stored before the event that refers to them.
  const history = [
    ...wanted.filter(({ stream }) => categoryOf(stream) === AUDIENCE_BATCH),
    ...wanted.filter(({ stream }) => categoryOf(stream) !== AUDIENCE_BATCH),
  ];
  const copies = Math.ceil(count / history.length);
  const client = new Client({ connectionString: url });
  await client.connect();
  let rows: (readonly [revision: number, ...rest: string[]])[] = [];
  const write = async (): Promise<void> => {
    await client.query(
      `insert into events (position, stream, revision, id, type, data, metadata)
       select head + row_number() over (), n.*
       from (select coalesce(max(position), 0) as head from events) h,
         unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[]) n`,
      [1, 0, 2, 3, 4, 5].map((column) => rows.map((row) => row[column])),
    );
    rows = [];
  };
  const revisions = new Map<string, number>();
  for (const event of history) {
    for (let n = 0; n < copies; n += 1) {
      const [stream = '', ...rest] = copied(event, n);
      const revision = revisions.get(stream) ?? 0;
      revisions.set(stream, revision + 1);
      rows.push([revision, stream, ...rest]);
      if (rows.length === STEP) await write();
    }
  }
  await write();
  await client.query('vacuum analyze events');
  await client.end();
  return copies * history.length;
};
