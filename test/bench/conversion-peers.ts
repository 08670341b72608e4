import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import knex from 'knex';
import { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { byteaArray, int8Array, textArray } from '../../shared/postgres/binary-array.ts';

/** Other ways to log each conversion event once. Rates are in events per second. */
export interface ConversionPeer {
  /** Logs events `from` to `from + count - 1`. Events that already exist are duplicates. */
  log(from: number, count: number): Promise<unknown>;
  close(): Promise<void>;
}

const key = (id: string): Buffer => createHash('md5').update(id).digest();

/**
 * The bare insert that the goals name: a unique 16-byte key and the full row, binary arrays, one statement for each
 * call. No HTTP, no JSON, no checks, no event log.
 */
export const bareInsert = async (url: string, connections: number): Promise<ConversionPeer> => {
  const pool = new Pool({ connectionString: url, max: connections });
  await pool.query(`
    create table if not exists bare_conversions (
      key bytea primary key, event_id text not null, event_time bigint not null, event_type text not null,
      value float8 not null, currency text not null)`);
  return {
    log: (from, count) => {
      const ids = Array.from({ length: count }, (_, n) => `order-${from + n}`);
      return pool.query({
        name: 'bare-conversions',
        text: `insert into bare_conversions select key, id, time, 'purchase', 12.5, 'EUR'
               from unnest($1::bytea[], $2::text[], $3::bigint[]) as n(key, id, time) on conflict do nothing`,
        values: [byteaArray(ids.map(key)), textArray(ids), int8Array(ids.map(() => 1_772_362_800_000))],
      });
    },
    close: () => pool.end(),
  };
};

/**
 * The lower limit for writing rows: `copy` into a table without a key, so without a check for duplicates. Uses one
 * connection for each call in flight.
 */
export const copyFloor = async (url: string, connections: number): Promise<ConversionPeer> => {
  const pool = new Pool({ connectionString: url, max: connections });
  await pool.query(`
    create table if not exists copied_conversions (
      key bytea not null, event_id text not null, event_time bigint not null, event_type text not null,
      value float8 not null, currency text not null)`);
  return {
    log: async (from, count) => {
      const rows: string[] = [];
      for (let n = from; n < from + count; n += 1) {
        const id = `order-${n}`;
        rows.push(`\\\\x${key(id).toString('hex')}\t${id}\t1772362800000\tpurchase\t12.5\tEUR\n`);
      }
      const client = await pool.connect();
      try {
        await pipeline([rows.join('')], client.query(copyFrom('copy copied_conversions from stdin')));
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
};

/** Uses knex as products do: rows in chunks, a text key. */
export const knexInsert = async (url: string, connections: number): Promise<ConversionPeer> => {
  const builder = knex({ client: 'pg', connection: url, pool: { min: 1, max: connections } });
  await builder.raw(`
    create table if not exists knex_conversions (
      source_id int not null, event_type text not null, event_id text not null, event_time timestamptz not null,
      value float8 not null, currency text not null, primary key (source_id, event_type, event_id))`);
  const time = '2026-03-01T11:00:00Z';
  return {
    log: async (from, count) => {
      for (let done = 0; done < count; done += 1_000) {
        const rows = Array.from({ length: Math.min(1_000, count - done) }, (_, n) => ({
          source_id: 1,
          event_type: 'purchase',
          event_id: `order-${from + done + n}`,
          event_time: time,
          value: 12.5,
          currency: 'EUR',
        }));
        await builder('knex_conversions')
          .insert(rows)
          .onConflict(['source_id', 'event_type', 'event_id'])
          .ignore();
      }
    },
    close: () => builder.destroy(),
  };
};

/** Calls with `count` events, `inFlight` at the same time, for some seconds. @returns events per second */
export const peerRate = async (
  peer: ConversionPeer,
  next: (count: number) => number,
  count: number,
  inFlight: number,
  seconds: number,
): Promise<number> => {
  const startMs = performance.now();
  let calls = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < startMs + seconds * 1_000) {
      await peer.log(next(count), count);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return (calls * count * 1_000) / (performance.now() - startMs);
};
