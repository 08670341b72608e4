import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

export interface CopiedTable {
  readonly columns: readonly string[];
  readonly rows: number;
  /** The hash of the file, as hexadecimal digits. */
  readonly sha256: string;
}

/** Without the limit for statements: a table may take hours. */
export const withCopyClient = async <T>(
  connectionString: string,
  work: (client: Client) => Promise<T>,
): Promise<T> => {
  const client = new Client({
    connectionString,
    application_name: 'exchange-operator',
    connectionTimeoutMillis: 20_000,
    keepAlive: true,
    options: `-c ${SYSTEM_ACCESS} -c statement_timeout=0 -c datestyle=ISO -c timezone=UTC`,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Names of the tables of the schema, and the columns that can be written. */
export const tableColumns = async (client: Client): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname not like 'knex_%'
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
};

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** Writes the rows that the client's transaction sees, as the text format of `COPY`, which later versions read. */
export const dumpTable = async (
  client: Client,
  name: string,
  columns: readonly string[],
  path: string,
): Promise<CopiedTable> => {
  const source = client.query(copyTo(`copy "${name}" (${quoted(columns)}) to stdout`));
  const { through, sha256 } = hashing();
  await pipeline(source, through, createWriteStream(path, { mode: 0o600, flush: true }));
  return { columns, rows: source.rowCount, sha256: sha256() };
};

/** @returns the number of rows */
export const fillTable = async (
  client: Client,
  name: string,
  columns: readonly string[],
  path: string,
): Promise<number> => {
  const target = client.query(copyFrom(`copy "${name}" (${quoted(columns)}) from stdin`));
  await pipeline(createReadStream(path), target);
  return target.rowCount;
};

const hashing = (): { readonly through: Transform; readonly sha256: () => string } => {
  const hash = createHash('sha256');
  const through = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { through, sha256: () => hash.digest('hex') };
};

/** The last value of each sequence that was used. */
export const sequenceValues = async (client: Client): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await client.query<{ name: string; value: number | null }>(
    `select sequencename as name, last_value::float8 as value from pg_sequences where schemaname = 'public'`,
  );
  return Object.fromEntries(rows.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])));
};

/** Sequences that this version does not have are ignored. */
export const setSequences = async (
  client: Client,
  values: Readonly<Record<string, number>>,
): Promise<void> => {
  await client.query(
    `select setval(c.oid::regclass, v.value::bigint) from jsonb_each_text($1) as v(name, value)
     join pg_class c on c.relname = v.name and c.relkind = 'S' and c.relnamespace = 'public'::regnamespace`,
    [JSON.stringify(values)],
  );
};
