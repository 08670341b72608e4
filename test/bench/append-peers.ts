import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { Pool } from 'pg';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { packageDirectory } from '../../app/version.ts';
import { typicalEvent } from '../support/typical-event.ts';
import { createPool } from '../../shared/postgres/pool.ts';

/** Appends one event to a new stream. */
export interface Appender {
  append(): Promise<unknown>;
  close(): Promise<void>;
}

/** The service's event store port. */
export const ourAppender = (url: string): Appender => {
  const log = pino({ level: 'silent' });
  const pool = createPool({ connectionString: url, applicationName: 'bench', max: 2 }, log);
  const store = createPostgresEventStore({ connectionString: url, pool, log });
  return {
    append: () => store.append(`bench-${randomUUID()}`, [typicalEvent()], 'no-stream'),
    close: async () => {
      await store.close();
      await pool.end();
    },
  };
};

const bareTables = `
  create table if not exists bare_streams (stream text collate "C" primary key, revision bigint not null);
  create table if not exists bare_events (
    position bigserial primary key, stream text collate "C" not null, revision bigint not null, id uuid not null,
    type text not null, data text not null, metadata text not null,
    recorded_at timestamptz not null default clock_timestamp(), unique (stream, revision))`;

const insertEvent = {
  name: 'bare_event',
  text: 'insert into bare_events (stream, revision, id, type, data, metadata) values ($1, $2, $3, $4, $5, $6)',
};

const rowOf = (stream: string): unknown[] => {
  const { id, type, data, metadata } = typicalEvent();
  return [stream, 0, id, type, JSON.stringify(data), JSON.stringify(metadata)];
};

/** Inserts the same row with one prepared statement and its own transaction. Readers could not rely on the order. */
export const bareAppender = async (url: string, connections: number): Promise<Appender> => {
  const pool = new Pool({ connectionString: url, max: connections });
  await pool.query(bareTables);
  return {
    append: () => pool.query({ ...insertEvent, values: rowOf(`bench-${randomUUID()}`) }),
    close: () => pool.end(),
  };
};

/**
 * The usual method of event stores on Postgres, with prepared statements. Each append is a transaction: it checks the
 * stream's revision, then inserts the event.
 */
export const transactionAppender = async (url: string, connections: number): Promise<Appender> => {
  const pool = new Pool({ connectionString: url, max: connections });
  await pool.query(bareTables);
  return {
    append: async () => {
      const stream = `bench-${randomUUID()}`;
      const client = await pool.connect();
      try {
        await client.query('begin');
        const { rowCount } = await client.query({
          name: 'bare_stream',
          text: `insert into bare_streams as s (stream, revision) values ($1, $2)
                 on conflict (stream) do update set revision = $2 where s.revision = $3`,
          values: [stream, 0, -1],
        });
        if (rowCount !== 1) throw new Error('the stream is not at the expected revision');
        await client.query({ ...insertEvent, values: rowOf(stream) });
        await client.query('commit');
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
};

interface EmmettModule {
  getPostgreSQLEventStore(url: string): {
    appendToStream(stream: string, events: readonly unknown[], options: unknown): Promise<unknown>;
    close(): Promise<void>;
  };
}

const EMMETT = '@event-driven-io/emmett-postgresql';

/**
 * The peer that the goals name. It states no licence, so this package does not depend on it. It is measured only if it
 * is installed, in this project or in the folder of `--peers`.
 * @returns undefined if it is not installed
 */
export const emmettAppender = async (
  url: string,
  peersDirectory: string = packageDirectory,
): Promise<(Appender & { readonly version: string }) | undefined> => {
  const folder = join(peersDirectory, 'node_modules', EMMETT);
  const file = join(folder, 'dist', 'index.js');
  if (!existsSync(file)) return undefined;
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const found = (await import(pathToFileURL(file).href)) as EmmettModule;
  const store = found.getPostgreSQLEventStore(url);
  return {
    version,
    append: () => {
      const { type, data, metadata } = typicalEvent();
      return store.appendToStream(`bench-${randomUUID()}`, [{ type, data, metadata }], {
        expectedStreamVersion: 'STREAM_DOES_NOT_EXIST',
      });
    },
    close: () => store.close(),
  };
};

/** Runs `callers` loops for `seconds`. @returns appends per second */
export const appendRate = async (appender: Appender, callers: number, seconds: number): Promise<number> => {
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let calls = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await appender.append();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, loop));
  return calls / ((performance.now() - startMs) / 1_000);
};
