import { randomUUID } from 'node:crypto';
import { runSql } from '../bench-database.ts';
import { startChildServer } from '../child-server.ts';
import { copyFloor, peerRate } from '../conversion-peers.ts';
import { conversionRequests, halfNewIds, newIds, sameIds, type NextIds } from '../conversion-requests.ts';
import { httpLoad } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import type { OwnService } from '../stage.ts';
import { rate } from './advertiser-requests.ts';
import { conversionServiceOf, openSource, ourRate, type Source } from './conversions.ts';
import type { Bench, Scenario } from './scenario.ts';

const LARGE = 10_000;
const MEDIUM = 1_000;
const IN_FLIGHT = 4;
const IN_FLIGHT_MEDIUM = 16;

/** Calls of 1,000 against Express with one prepared statement, and calls with duplicates against calls without. */
export const mediumConversions: Scenario = async (bench) => {
  const source = await openSource(await conversionServiceOf(bench), 'medium');
  const { url } = await bench.createDatabase();
  const bare = await startChildServer('bare-conversions.js', { DATABASE_URL: url });
  bench.atEnd(() => bare.stop());
  const bareRequests = conversionRequests('/event-sources/a/events', {}, MEDIUM, newIds());
  const ids = newIds();
  const result = await alternate(
    bench.rounds,
    () => ourRate(source, ids, MEDIUM, IN_FLIGHT_MEDIUM, bench.seconds),
    async () => (await rate(bare.port, IN_FLIGHT_MEDIUM, bench.seconds, bareRequests)) * MEDIUM,
  );
  const allNew = lineOf({
    name: `conversions, ${MEDIUM} a call, all new, ${IN_FLIGHT_MEDIUM} connections`,
    unit: 'events/s',
    ...result,
    baselineName: 'Express 5 + prepared insert with a unique key',
    goal: 0.6,
  });
  const lines = [allNew];
  for (const count of bench.quick ? [MEDIUM] : [1, 100, MEDIUM]) {
    lines.push(...(await duplicatesLines(bench, source, ids, count)));
  }
  return lines;
};

const duplicatesLines = async (
  bench: Bench,
  source: Source,
  ids: NextIds,
  count: number,
): Promise<readonly Line[]> => {
  const against = async (name: string, next: NextIds): Promise<Line> =>
    lineOf({
      name: `conversions, ${count} a call, ${name}`,
      unit: 'events/s',
      ...(await alternate(
        bench.rounds,
        () => ourRate(source, next, count, IN_FLIGHT_MEDIUM, bench.seconds),
        () => ourRate(source, ids, count, IN_FLIGHT_MEDIUM, bench.seconds),
      )),
      baselineName: 'all new',
    });
  const all = await against('all duplicates', sameIds());
  // A call with one event cannot have half duplicates.
  return count === 1
    ? [all]
    : [await against('half duplicates', halfNewIds(2_000_000_000 + count * 1_000_000)), all];
};

/** Large calls against the lowest cost of writing as many rows: no HTTP, no checks, no key. */
export const conversionFloor: Scenario = async (bench) => {
  const source = await openSource(await conversionServiceOf(bench), 'floor');
  const { url } = await bench.createDatabase();
  const copy = await copyFloor(url, IN_FLIGHT);
  bench.atEnd(() => copy.close());
  const [ids, copied] = [newIds(), newIds()];
  const result = await alternate(
    bench.rounds,
    () => ourRate(source, ids, LARGE, IN_FLIGHT, bench.seconds),
    () => peerRate(copy, copied, LARGE, 1, bench.seconds),
  );
  return [
    lineOf({
      name: `conversions, ${LARGE} a call, all new, ${IN_FLIGHT} in flight`,
      unit: 'events/s',
      ...result,
      baselineName: 'COPY into a table without a key, 1 in flight',
      note: 'the floor for rows: duplicates are not found',
    }),
  ];
};

/** Kilobytes that a call of 10,000 new events adds to Postgres' write-ahead log. */
const logBytesOf = async (source: Source, next: NextIds, calls: number): Promise<number> => {
  const { databaseUrl, service } = source.own;
  const position = async (): Promise<number> => {
    const [row] = (await runSql(
      databaseUrl,
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
    )) as [{ bytes: number }];
    return row.bytes;
  };
  // Writes the pages of earlier calls, which must not be counted.
  await runSql(databaseUrl, 'checkpoint');
  const before = await position();
  const request = conversionRequests(source.path, source.headers, LARGE, next);
  for (let call = 0; call < calls; call += 1) {
    await httpLoad({ port: service.port, connections: 1, seconds: 0, request });
  }
  return ((await position()) - before) / calls / 1_000;
};

/** @param count the minimum number of events */
const fill = async (source: Source, next: NextIds, count: number): Promise<void> => {
  const request = conversionRequests(source.path, source.headers, LARGE, next);
  const { port } = source.own.service;
  for (let sent = 0; sent < count; sent += LARGE * IN_FLIGHT) {
    await httpLoad({ port, connections: IN_FLIGHT, seconds: 0, request });
  }
};

/** A source whose ids from 0 to `known() - 1` were sent. */
interface FilledSource {
  readonly source: Source;
  readonly known: () => number;
  readonly allNew: NextIds;
  readonly halfNew: NextIds;
}

const openFilled = (source: Source): FilledSource => {
  let sent = 0;
  const sending =
    (known: (count: number) => number): NextIds =>
    (count) => {
      const from = sent - known(count);
      sent = from + count;
      return from;
    };
  return {
    source,
    known: () => sent,
    allNew: sending(() => 0),
    halfNew: sending((count) => count / 2),
  };
};

/** Compares a source that knows many events with an empty one. */
const linesOfKnown = async (
  bench: Bench,
  own: OwnService,
  full: FilledSource,
  size: string,
): Promise<readonly Line[]> => {
  const fresh = (): Promise<Source> => openSource(own, randomUUID());
  const large = (source: Source, ids: NextIds): Promise<number> =>
    ourRate(source, ids, LARGE, IN_FLIGHT, bench.seconds);
  const calls = bench.quick ? 5 : 20;
  const logBytes = await alternate(
    bench.rounds,
    () => logBytesOf(full.source, full.allNew, calls),
    async () => logBytesOf(await fresh(), newIds(), calls),
  );
  const halves = await alternate(
    bench.rounds,
    () => large(full.source, full.halfNew),
    async () => large(await fresh(), halfNewIds(0)),
  );
  const all = await alternate(
    bench.rounds,
    // Any of the known ids.
    () => large(full.source, (count) => Math.floor(Math.random() * (full.known() - count))),
    async () => {
      const source = await fresh();
      await fill(source, sameIds(), LARGE);
      return large(source, sameIds());
    },
  );
  const against = { unit: 'events/s', baselineName: 'a source that knows none', goal: 0.8 };
  const allNew: Line[] = [];
  for (const count of [1, 100, MEDIUM, LARGE]) {
    const connections = count === LARGE ? IN_FLIGHT : IN_FLIGHT_MEDIUM;
    const result = await alternate(
      bench.rounds,
      () => ourRate(full.source, full.allNew, count, connections, bench.seconds),
      async () => ourRate(await fresh(), newIds(), count, connections, bench.seconds),
    );
    allNew.push(lineOf({ ...against, name: `conversions, ${count} a call, all new, ${size}`, ...result }));
  }
  return [
    ...allNew,
    lineOf({ ...against, name: `conversions, ${LARGE} a call, half duplicates, ${size}`, ...halves }),
    lineOf({
      ...against,
      name: `conversions, ${LARGE} a call, all duplicates, ${size}`,
      ...all,
      baselineName: 'a source that knows just them',
    }),
    lineOf({
      ...against,
      name: `write-ahead log of a call of ${LARGE} new ones, ${size}`,
      ...logBytes,
      unit: 'kB',
      goal: 1.1,
      atMost: true,
    }),
  ];
};

/**
 * Calls of every size, duplicates and write-ahead log of a source that knows many events. Its memory holds all of them.
 */
export const knownConversions: Scenario = async (bench) => {
  const own = await conversionServiceOf(bench, { CONVERSIONS_MEMORY_MB: '4096' });
  const full = openFilled(await openSource(own, 'known'));
  const lines: Line[] = [];
  for (const known of bench.quick ? [1_000_000] : [1_000_000, 10_000_000]) {
    await fill(full.source, full.allNew, known - full.known());
    lines.push(...(await linesOfKnown(bench, own, full, `${known.toLocaleString('en')} known`)));
  }
  return lines;
};
