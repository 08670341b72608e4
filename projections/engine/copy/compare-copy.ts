import type { Client } from 'pg';
import type { Comparison } from '../comparison.ts';
import { endWhenInTheWay, workingName } from './cancel-statements.ts';
import { connectCopy } from './copy-state.ts';
import { allOf, copySchemaOf, liveTables, quoted, quotedTable, type TableName } from './copy-schema.ts';
import { meetLive, type HeldCopy } from './meet-live.ts';

export interface RowDifference {
  readonly key: Readonly<Record<string, unknown>>;
  /** `missing`: only in the copy; `surplus`: only in the live read model. */
  readonly problem: 'missing' | 'surplus' | 'changed';
  /** Only for a changed row; each value is cut at 200 characters. */
  readonly columns?: Readonly<Record<string, readonly [live: string | null, rebuilt: string | null]>>;
}

export interface TableComparison {
  readonly table: string;
  readonly rows: number;
  readonly missing: number;
  readonly surplus: number;
  readonly changed: number;
  readonly shown: readonly RowDifference[];
}

export interface ReadModelComparison {
  readonly readModel: string;
  readonly position: string;
  readonly differences: number;
  readonly rows: number;
  readonly tables: readonly TableComparison[];
}

/** Another session waits for a compared table: given up without a result. */
class ComparisonGivenUpError extends Error {
  override readonly name = 'ComparisonGivenUpError';
}

/** JSON as text: equal values may have their members in another order. */
const JSON_COLUMNS: ReadonlySet<string> = new Set(['body', 'item']);
const SHOWN_CHARS = 200;

/**
 * Compares both at one position, in a snapshot that two connections share; the live read model then
 * continues. The snapshot holds the weakest table locks for long: a session that needs an exclusive lock,
 * e.g. a migration, would wait, and all others behind it. So the comparison is given up for it.
 * @param shownMax differences reported for each table
 * @param meanwhile runs in parallel, after the snapshot; it may change only what is not compared
 * @throws ComparisonGivenUpError; errors of `meanwhile`
 */
export const compareCopy = async (
  copy: HeldCopy,
  shownMax: number,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<ReadModelComparison> => {
  const { name } = copy.projection;
  const connecting = [connectReader(copy), connectReader(copy)] as const;
  const { inTheWay, stop } = endWhenInTheWay(copy.guard, name);
  try {
    const [reader, second] = await Promise.all(connecting);
    const { position, snapshot } = await meetLive(copy, async (at) => {
      await reader.query(`${BEGIN}; ${JOINS}`);
      const { rows } = await reader.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot');
      return { position: at, snapshot: rows[0]?.snapshot ?? '' };
    });
    const compareAll = async (): Promise<readonly TableComparison[]> => {
      await second.query(`${BEGIN}; set transaction snapshot ${second.escapeLiteral(snapshot)}; ${JOINS}`);
      const pairs = await pairsOf(reader, copy);
      const compared: TableComparison[] = [];
      const left = pairs.entries();
      const compareSome = async (by: Client): Promise<void> => {
        for (const [n, pair] of left) {
          copy.signal.throwIfAborted();
          inTheWay.throwIfAborted();
          compared[n] = await compare(by, pair, shownMax);
        }
      };
      await allOf([compareSome(reader), compareSome(second)]);
      return compared;
    };
    const comparing = compareAll();
    await allOf([comparing, meanwhile()]);
    const tables = await comparing;
    const sum = (of: (one: TableComparison) => number): number =>
      tables.reduce((total, one) => total + of(one), 0);
    return {
      readModel: name,
      position,
      differences: sum(({ missing, surplus, changed }) => missing + surplus + changed),
      rows: sum(({ rows }) => rows),
      tables,
    };
  } catch (error) {
    // The cancelled statement may fail before `inTheWay` is aborted: wait for that.
    await stop();
    if (!inTheWay.aborted) throw error;
    throw new ComparisonGivenUpError(
      `another session waits to change the tables of ${name} (e.g. a migration): run it again after that`,
      { cause: error },
    );
  } finally {
    await stop();
    await Promise.allSettled(connecting.map(async (reader) => (await reader).end()));
  }
};

const BEGIN = 'begin isolation level repeatable read read only';

/** Whole tables are joined, by their key indexes or in memory. */
const JOINS = `set local enable_seqscan = on; set local enable_hashjoin = on; set local enable_mergejoin = on;
  set local enable_bitmapscan = on; set local work_mem = '64MB'`;

const connectReader = ({ databaseUrl, projection }: HeldCopy): Promise<Client> =>
  connectCopy(databaseUrl, workingName(projection.name));

interface Pair extends Pick<Comparison, 'close'> {
  readonly table: string;
  readonly live: string;
  readonly rebuilt: string;
  readonly key: readonly string[];
  readonly isKeyIndexed: boolean;
}

const parkedOf = (projection: string): Comparison => ({
  instead: {
    select: (table) =>
      `select stream, revision, event_type from ${table} where projection = '${projection.replaceAll("'", "''")}'`,
    key: ['stream'],
  },
});

const pairsOf = async (
  client: Client,
  { projection: { name, tables, compared = {} } }: HeldCopy,
): Promise<readonly Pair[]> => {
  const how: Readonly<Record<string, Comparison>> = { ...compared, parked_streams: parkedOf(name) };
  const pairs: Pair[] = [];
  const lives = await liveTables(client, [...tables, 'parked_streams']);
  const keys = await primaryKeys(client, lives);
  for (const [n, live] of lives.entries()) {
    const { table } = live;
    const { where = 'true', instead, close } = how[table] ?? {};
    const select = instead?.select ?? ((from) => `select * from ${from} where ${where}`);
    pairs.push({
      table,
      live: select(quotedTable(live)),
      rebuilt: select(quotedTable({ schema: copySchemaOf(name), table })),
      key: instead?.key ?? keyOf(table, keys[n]),
      isKeyIndexed: instead === undefined,
      ...(close !== undefined && { close }),
    });
  }
  return pairs;
};

const primaryKeys = async (
  client: Client,
  tables: readonly TableName[],
): Promise<readonly (readonly string[])[]> => {
  const { rows } = await client.query<{ key: readonly string[] }>(
    `select array(select a.attname::text from pg_index i, unnest(i.indkey) with ordinality as k (attnum, n)
         join pg_attribute a on a.attnum = k.attnum
         where i.indrelid = t.name::regclass and a.attrelid = i.indrelid and i.indisprimary order by k.n) as key
     from unnest($1::text[]) with ordinality as t (name, n_th) order by t.n_th`,
    [tables.map(quotedTable)],
  );
  return rows.map(({ key }) => key);
};

const keyOf = (table: string, key: readonly string[] = []): readonly string[] => {
  if (key.length === 0) throw new Error(`${table} has no primary key to compare it by`);
  return key;
};

const compare = async (client: Client, pair: Pair, shownMax: number): Promise<TableComparison> => {
  // A merge join: a hash of whole rows would exceed work_mem, and parallel workers would take CPU time.
  await client.query(`set local enable_hashjoin = ${pair.isKeyIndexed ? 'off' : 'on'}`);
  const { fields } = await client.query(`select * from (${pair.live}) one limit 0`);
  const columns = fields.map(({ name }) => name).filter((name) => !pair.key.includes(name));
  const [first = ''] = pair.key.map(quoted);
  const differing = columns.map((name) => isDifferent(name, pair)).join(' or ');
  const joined = `from (${pair.live}) a full join (${pair.rebuilt}) b
    on ${pair.key.map((name) => `a.${quoted(name)} = b.${quoted(name)}`).join(' and ')}`;
  const isChanged = `a.${first} is not null and b.${first} is not null and (${differing === '' ? 'false' : differing})`;
  const { rows } = await client.query<Record<'rows' | 'missing' | 'surplus' | 'changed', number>>(
    `select count(*)::float8 as rows, (count(*) filter (where a.${first} is null))::float8 as missing,
       (count(*) filter (where b.${first} is null))::float8 as surplus,
       (count(*) filter (where ${isChanged}))::float8 as changed ${joined}`,
  );
  const counted = rows[0] ?? { rows: 0, missing: 0, surplus: 0, changed: 0 };
  const isSame = counted.missing + counted.surplus + counted.changed === 0;
  const shown = isSame
    ? []
    : await differencesOf(client, pair, columns, { joined, isChanged, first }, shownMax);
  return { table: pair.table, ...counted, shown };
};

const isDifferent = (name: string, { close = [] }: Pair): string => {
  const [a, b] = [`a.${quoted(name)}`, `b.${quoted(name)}`];
  if (close.includes(name)) {
    return `((${a} is null) <> (${b} is null) or abs(${a} - ${b}) > 1e-9 * greatest(abs(${a}), abs(${b})))`;
  }
  // Parsed as JSON only if the texts differ.
  if (JSON_COLUMNS.has(name)) {
    return `case when ${a} is not distinct from ${b} then false else ${a}::jsonb is distinct from ${b}::jsonb end`;
  }
  return `${a} is distinct from ${b}`;
};

const differencesOf = async (
  client: Client,
  pair: Pair,
  columns: readonly string[],
  { joined, isChanged, first }: { joined: string; isChanged: string; first: string },
  shownMax: number,
): Promise<readonly RowDifference[]> => {
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const key = pair.key.map((name) => `${literal(name)}, coalesce(a.${quoted(name)}, b.${quoted(name)})`);
  const shown = (side: string, name: string): string => `left(${side}.${quoted(name)}::text, ${SHOWN_CHARS})`;
  const changes = columns.map(
    (name) =>
      `case when ${isDifferent(name, pair)}
         then json_build_object(${literal(name)}, json_build_array(${shown('a', name)}, ${shown('b', name)})) end`,
  );
  const { rows } = await client.query<{
    key: Record<string, unknown>;
    problem: RowDifference['problem'];
    changes: (Record<string, readonly [string | null, string | null]> | null)[];
  }>(
    `select json_build_object(${key.join(', ')}) as key,
       case when a.${first} is null then 'missing' when b.${first} is null then 'surplus' else 'changed' end as problem,
       json_build_array(${changes.join(', ')}) as changes ${joined}
     where a.${first} is null or b.${first} is null or (${isChanged}) limit $1`,
    [shownMax],
  );
  return rows.map(({ key: found, problem, changes: of }) =>
    problem === 'changed'
      ? { key: found, problem, columns: Object.assign({}, ...of) as RowDifference['columns'] & object }
      : { key: found, problem },
  );
};
