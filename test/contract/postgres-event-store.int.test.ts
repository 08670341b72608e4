import { expect, it } from '@jest/globals';
import { eventStoreContract } from './event-store.contract.ts';
import { makePostgresStore, openPostgresStore } from './make-postgres-store.ts';
import { newStream, sampleEvent, toArray } from './sample-events.ts';

eventStoreContract('postgres', makePostgresStore);

it.each([
  ['2026-11-28T09:30:00.000Z', '2026-11-28 09:30:00+00'],
  ['2026-11-28T09:30:00.500Z', '2026-11-28 09:30:00.5+00'],
  ['2026-02-28T23:59:59.057Z', '2026-02-28 23:59:59.057999+00'],
])('reads the time %s on a server with another time zone and date style', async (iso, stored) => {
  const { database, pool, store, dispose } = await makePostgresStore();
  const name = new URL(database.url).pathname.slice(1);
  await pool.query(`alter database "${name}" set timezone = 'Asia/Kathmandu'`);
  await pool.query(`alter database "${name}" set datestyle = 'German'`);
  const stream = newStream();
  await store.append(stream, [sampleEvent()], 'no-stream');
  await pool.query('update events set recorded_at = $1', [stored]);
  const later = openPostgresStore(database.url);
  expect((await toArray(later.store.readStream(stream))).map(({ recordedAt }) => recordedAt)).toEqual([iso]);
  await later.close();
  await dispose();
});
