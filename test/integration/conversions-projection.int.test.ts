import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLedgers } from '../../command/conversions/ledgers.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { createSegments } from '../../app/lookups/conversion-segments.ts';
import { conversionStream } from '../../domain/conversions/events.ts';
import { conversionsProjection } from '../../projections/conversions.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { createLog } from '../../app/log.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { createSourceLedger } from '../../command/conversions/source-ledger.ts';
import { createWaitingBytes } from '../../command/conversions/waiting-bytes.ts';
import { callOf, CUSTOMER, item, items, openSource } from '../support/conversion-calls.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

/** The read models of conversion events, and the segments as the ledger reads them. */

const readModels = useReadModelDatabase();

const agoMs = 3_600_000;
const nowMs = Date.now();
const at = new Date(nowMs - agoMs).toISOString();
const here = (id: string, members: object = {}) => item(id, { eventTime: at, ...members });

const openLedger = (sourceId = randomUUID(), store = createMemoryEventStore()) => {
  const ledger = createSourceLedger({
    store,
    segments: createSegments(readModels.pool),
    now: () => nowMs,
    waitingBytes: createWaitingBytes(),
    customerId: CUSTOMER,
    sourceId,
    loadSource: async () => openSource,
  });
  const log = (...events: object[]) => ledger.submit(callOf(events, { nowMs }));
  const eventsIn = async (): Promise<RecordedEvent[]> => {
    const all: RecordedEvent[] = [];
    for await (const event of store.readStream(conversionStream(CUSTOMER, sourceId))) all.push(event);
    return all;
  };
  return { sourceId, store, ledger, log, eventsIn };
};

const apply = (events: readonly RecordedEvent[]): Promise<unknown> =>
  inTransaction(readModels.pool, (client) => conversionsProjection.apply(client, events));

const rowsOf = async (table: string, sourceId: string, columns: string): Promise<unknown[]> =>
  (
    await readModels.pool.query(`select ${columns} from ${table} where source_id = $1 order by 1, 2`, [
      sourceId,
    ])
  ).rows;

describe('the projection', () => {
  it('counts by hour, type and currency; values of up to six decimals exactly', async () => {
    const { log, eventsIn, sourceId } = openLedger();
    await log(
      ...Array.from({ length: 1_000 }, (_, n) => here(`${n}`, { value: 0.1, currency: 'EUR' })),
      here('x'),
    );
    await log(
      here('y', { eventType: 'purchase', value: -1.005, currency: 'USD' }),
      here('z', { value: 1e300 }),
    );
    await apply(await eventsIn());
    expect(
      await rowsOf(
        'conversion_hours',
        sourceId,
        'event_type, currency, event_count::int, value_sum::float8, hour',
      ),
    ).toEqual(
      [
        ['custom', '', 2, 1e300],
        ['custom', 'EUR', 1_000, 100],
        ['purchase', 'USD', 1, -1.005],
      ].map(([event_type, currency, event_count, value_sum]) => ({
        event_type,
        currency,
        event_count,
        value_sum,
        hour: new Date(Math.floor((nowMs - agoMs) / 3_600_000) * 3_600_000),
      })),
    );
  });

  it('changes nothing for redelivered events, alone, together or with later ones', async () => {
    const { log, eventsIn, sourceId } = openLedger();
    await log(here('a'), here('b'));
    await log(here('c'), {});
    await log(here('d'), here('a'));
    const [one, two, three] = await eventsIn();
    if (one === undefined || two === undefined || three === undefined) throw new Error('three events');
    for (const delivered of [[one], [one], [one, two], [two], [one, two, three], [three]])
      await apply(delivered);
    expect(await rowsOf('conversion_hours', sourceId, 'event_count::int, currency')).toEqual([
      { event_count: 4, currency: '' },
    ]);
    expect(
      await rowsOf(
        'conversion_segments',
        sourceId,
        'first_revision::int, last_revision::int, octet_length(fingerprints) as bytes',
      ),
    ).toEqual([
      { first_revision: 0, last_revision: 0, bytes: 32 },
      { first_revision: 1, last_revision: 1, bytes: 16 },
      { first_revision: 2, last_revision: 2, bytes: 16 },
    ]);
  });

  it('counts what arrived by hour: accepted, and rejected by reason, once a call', async () => {
    const { log, eventsIn, sourceId } = openLedger();
    await log(here('a'), here('b'), {}, { eventId: '' }, { eventId: '' }, { eventId: 'c', eventTime: 'x' });
    await log(here('d'), {});
    await apply(await eventsIn());
    const hour = new Date(Math.floor(nowMs / 3_600_000) * 3_600_000);
    const rows = await rowsOf('conversion_receipts', sourceId, 'reason, hour, event_count::int');
    expect(rows).toEqual([
      { reason: '', hour, event_count: 3 },
      { reason: expect.stringMatching(/^eventId must be/), hour, event_count: 2 },
      { reason: expect.stringMatching(/^eventId must have/), hour, event_count: 2 },
      { reason: expect.stringMatching(/^eventTime /), hour, event_count: 1 },
    ]);
  });

  it('refuses a gap', async () => {
    const { log, eventsIn } = openLedger();
    await log(here('a'));
    await log(here('b'));
    await expect(apply((await eventsIn()).slice(1))).rejects.toThrow(/revision 0 is missing/);
  });

  it('records the last event and the last error', async () => {
    const { log, eventsIn, sourceId } = openLedger();
    await log(
      here('a', { eventType: 'lead' }),
      here('b', { eventTime: new Date(nowMs - 2 * agoMs).toISOString() }),
    );
    await log({ eventId: '' }, { eventId: '' });
    await apply(await eventsIn());
    expect(
      await rowsOf(
        'conversion_health',
        sourceId,
        'status, last_event_at, last_event_received_at, last_event_type, last_error, last_error_at',
      ),
    ).toEqual([
      {
        status: 'needs_attention',
        last_event_at: new Date(at),
        last_event_received_at: new Date(nowMs),
        last_event_type: 'custom',
        last_error: expect.stringMatching(/^eventId/),
        last_error_at: new Date(nowMs),
      },
    ]);
    await log(here('c'));
    await apply(await eventsIn());
    expect(await rowsOf('conversion_health', sourceId, 'status, last_error, last_event_type')).toEqual([
      { status: 'receiving', last_error: expect.stringMatching(/^eventId/), last_event_type: 'custom' },
    ]);
  });
});

describe('a ledger after a restart', () => {
  it('loads the segments instead of reading the stream', async () => {
    const { log, eventsIn, sourceId, store } = openLedger();
    for (let n = 0; n < 40; n += 1) await log(...Array.from({ length: 50 }, (_, k) => here(`${n}-${k}`)));
    const events = await eventsIn();
    await apply(events.slice(0, 15));
    await apply(events.slice(15, 16));
    await apply(events.slice(16, 38));
    await readModels.pool.query(
      'delete from conversion_segments where source_id = $1 and last_revision = 15',
      [sourceId],
    );
    const again = openLedger(sourceId, store);
    const all = Array.from({ length: 40 }, (_, n) =>
      Array.from({ length: 50 }, (__, k) => here(`${n}-${k}`)),
    ).flat();
    expect(await again.log(...all, here('new'))).toMatchObject({
      result: { accepted: 1, duplicates: 2_000 },
    });
  });

  it('answers a repeated call from its events, with or without rows', async () => {
    const { log, ledger, eventsIn, sourceId, store } = openLedger();
    const call = callOf([here('a'), here('b'), {}], { nowMs });
    const first = await ledger.submit(call);
    await log(here('c'));
    await apply(await eventsIn());
    for (const lost of ['', 'delete from conversion_commands', 'delete from conversion_segments']) {
      if (lost !== '') await readModels.pool.query(`${lost} where source_id = $1`, [sourceId]);
      expect(await openLedger(sourceId, store).ledger.submit(call)).toEqual(first);
    }
  });
});

it('old rows are purged', async () => {
  const { log, eventsIn, sourceId } = openLedger();
  await log(...items('a').map((one) => ({ ...one, eventTime: at })));
  await apply(await eventsIn());
  const left = () =>
    Promise.all(
      ['conversion_segments', 'conversion_commands', 'conversion_hours'].map(
        async (table) => (await rowsOf(table, sourceId, 'customer_id, source_id')).length,
      ),
    );
  const purge = async () => {
    for (const rows of Object.values(expiredRows(readModels.pool))) await rows.purge(1_000);
  };
  await purge();
  expect(await left()).toEqual([1, 1, 1]);
  const age = (table: string, column: string, days: number) =>
    readModels.pool.query(
      `update ${table} set ${column} = now() - interval '${days} days' where source_id = $1`,
      [sourceId],
    );
  await age('conversion_commands', 'recorded_at', 5);
  await purge();
  expect(await left()).toEqual([1, 0, 1]);
  await age('conversion_segments', 'recorded_at', 96);
  await age('conversion_hours', 'hour', 401);
  await purge();
  expect(await left()).toEqual([0, 0, 0]);
});

it('ledgers beyond the memory limit are evicted, the last used one stays, and no event is lost', async () => {
  const store = createMemoryEventStore();
  const ledgers = createLedgers({
    store,
    segments: createSegments(readModels.pool),
    now: () => nowMs,
    bytesMax: 6_000,
    log: createLog('silent'),
  });
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const id of ids) {
    // No such source: refused, but its ledger was opened.
    expect(await ledgers.of(CUSTOMER, id).submit(callOf([here('a')], { nowMs }))).toMatchObject({
      outcome: 'refused',
    });
    await new Promise((resolve) => setTimeout(resolve, 260));
  }
  expect(ledgers.figures()).toMatchObject({ sources: 1, evicted: 4 });
});
