import { randomUUID } from 'node:crypto';
import { apiOf } from '../../support/api-client.ts';
import { startChildServer } from '../child-server.ts';
import { bareInsert, knexInsert, peerRate, type ConversionPeer } from '../conversion-peers.ts';
import { conversionRequests, halfNewIds, newIds, sameIds, type NextIds } from '../conversion-requests.ts';
import { httpLoad } from '../http-load.ts';
import { alternate, alternateAmong, lineOf, type Line } from '../measure.ts';
import type { Environment } from '../service-process.ts';
import { openConversionService, startOwnService, type OwnService } from '../stage.ts';
import type { Bench, Scenario } from './scenario.ts';

const LARGE = 10_000;
/** Concurrent calls of 10,000 events, and of smaller calls. */
const IN_FLIGHT = 4;
const IN_FLIGHT_SMALL = 32;

export interface Source {
  readonly own: OwnService;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The quick form sends so few events that all scenarios share one service. In the long form that service would evict
 * some events for others, which must not be measured.
 */
export const conversionServiceOf = (bench: Bench, settings: Environment = {}): Promise<OwnService> =>
  bench.quick ? bench.shared(openConversionService) : startOwnService(bench, settings);

export const openSource = async (own: OwnService, key: string): Promise<Source> => {
  const headers = { Authorization: `Bearer ${own.apiKey}` };
  const api = apiOf(`http://127.0.0.1:${own.service.port}`, headers);
  const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Bench' })).body.data;
  const synced = await api.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: [{ event_source_id: key }],
  });
  if (synced.status !== 200) throw new Error(`no event source: ${synced.text}`);
  return { own, path: `/api/v2/buyer/event-sources/${key}/events`, headers };
};

/** Events per second through the service. */
export const ourRate = async (
  { own, path, headers }: Source,
  next: NextIds,
  count: number,
  inFlight: number,
  seconds: number,
  keyed?: () => string,
  port: number | readonly number[] = own.service.port,
): Promise<number> => {
  const request = conversionRequests(path, headers, count, next, keyed);
  const { perSecond, failed, failedWith } = await httpLoad({
    port,
    connections: inFlight,
    seconds,
    request,
  });
  if (failed > 0) throw new Error(`${failed} calls failed: ${failedWith.join(', ')}`);
  return perSecond * count;
};

/** Calls of 10,000 against plain inserts. */
const largeCalls = async (bench: Bench, source: Source, peers: Peers): Promise<readonly Line[]> => {
  const ids = newIds();
  const ours = () => ourRate(source, ids, LARGE, IN_FLIGHT, bench.seconds);
  const theirs = (peer: ConversionPeer, inFlight: number) => () =>
    peerRate(peer, peers.ids, LARGE, inFlight, bench.seconds);
  const beside = await alternateAmong(
    bench.rounds,
    [ours],
    [theirs(peers.bare, 1), theirs(peers.bare, IN_FLIGHT), theirs(peers.knex, IN_FLIGHT)],
  );
  const name = `conversions, ${LARGE} a call, all new, ${IN_FLIGHT} in flight`;
  const bareName = 'bare dedup insert, 16-byte key, full row';
  return [
    lineOf({
      name,
      unit: 'events/s',
      ...beside(0, 0),
      baselineName: `${bareName}, 1 in flight`,
      goal: 3,
    }),
    lineOf({
      name,
      unit: 'events/s',
      ...beside(0, 1),
      baselineName: `${bareName}, ${IN_FLIGHT} in flight`,
      goal: 1,
    }),
    lineOf({
      name,
      unit: 'events/s',
      ...beside(0, 2),
      baselineName: 'knex in chunks of 1,000',
      goal: 8,
    }),
  ];
};

interface Peers {
  readonly bare: ConversionPeer;
  readonly knex: ConversionPeer;
  readonly ids: NextIds;
}

/** The cost of duplicates and of an idempotency key. */
const otherLargeCalls = async (bench: Bench, source: Source): Promise<readonly Line[]> => {
  const ids = newIds(1_000_000_000);
  const calls = (next: NextIds, keyed?: () => string) => () =>
    ourRate(source, next, LARGE, IN_FLIGHT, bench.seconds, keyed);
  const beside = await alternateAmong(
    bench.rounds,
    [calls(halfNewIds(2_000_000_000)), calls(sameIds()), calls(ids, randomUUID)],
    [calls(ids)],
  );
  const line = (n: number, name: string, goal?: number): Line =>
    lineOf({
      name: `conversions, ${LARGE} a call, ${name}`,
      unit: 'events/s',
      ...beside(n, 0),
      baselineName: 'all new',
      ...(goal === undefined ? {} : { goal }),
    });
  return [line(0, 'half duplicates'), line(1, 'all duplicates'), line(2, 'with an idempotency key', 0.67)];
};

/** Calls of 1 and of 100 against Express with one prepared statement. */
const smallCalls = async (bench: Bench, source: Source): Promise<readonly Line[]> => {
  const { url } = await bench.createDatabase();
  const bare = await startChildServer('bare-conversions.js', { DATABASE_URL: url });
  bench.atEnd(() => bare.stop());
  const lines: Line[] = [];
  for (const count of [1, 100]) {
    const [ids, bareIds] = [newIds(3_000_000_000 * count), newIds()];
    const result = await alternate(
      bench.rounds,
      () => ourRate(source, ids, count, IN_FLIGHT_SMALL, bench.seconds),
      async () => {
        const request = conversionRequests('/event-sources/a/events', {}, count, bareIds);
        const { perSecond } = await httpLoad({
          port: bare.port,
          connections: IN_FLIGHT_SMALL,
          seconds: bench.seconds,
          request,
        });
        return perSecond * count;
      },
      bench.warmUpRounds,
    );
    lines.push(
      lineOf({
        name: `conversions, ${count} a call, all new, ${IN_FLIGHT_SMALL} connections`,
        unit: 'events/s',
        ...result,
        baselineName: 'Express 5 + prepared insert with a unique key',
        goal: 0.6,
      }),
    );
  }
  return lines;
};

/** Compares an empty source with one that knows as many events as the goals name. */
const growthOfKnown = async (bench: Bench, own: OwnService): Promise<readonly Line[]> => {
  const known = bench.quick ? 1_000_000 : 10_000_000;
  const full = await openSource(own, `full-${randomUUID()}`);
  const fullIds = newIds();
  let sent = 0;
  const fill = conversionRequests(full.path, full.headers, LARGE, (count) => {
    sent += count;
    return fullIds(count);
  });
  while (sent < known) {
    await httpLoad({ port: own.service.port, connections: IN_FLIGHT, seconds: 1, request: fill });
  }
  const result = await alternate(
    bench.rounds,
    () => ourRate(full, fullIds, LARGE, IN_FLIGHT, bench.seconds),
    // A new source each time, so that it is empty.
    async () => ourRate(await openSource(own, randomUUID()), newIds(), LARGE, IN_FLIGHT, bench.seconds),
  );
  return [
    lineOf({
      name: `conversions, ${LARGE} a call, ${known.toLocaleString('en')} known`,
      unit: 'events/s',
      ...result,
      baselineName: 'a source that knows none',
      goal: 0.8,
    }),
  ];
};

const LAG = /^nodejs_eventloop_lag_p99_seconds (\S+)/m;

/** The event loop's delay while ten clients send calls of 10,000 events. */
const eventLoopDelay = async (bench: Bench, source: Source): Promise<Line> => {
  const { metrics } = source.own.service;
  const delays: number[] = [];
  const ids = newIds(4_000_000_000);
  for (let round = 0; round <= bench.rounds; round += 1) {
    // Reading the metric resets it.
    await metrics();
    await ourRate(source, ids, LARGE, 10, bench.quick ? 0.5 : 3);
    const delay = Number(LAG.exec(await metrics())?.[1]) * 1_000;
    if (round > 0) delays.push(delay);
  }
  return lineOf({
    name: `event-loop delay p99, 10 clients with ${LARGE} a call`,
    unit: 'ms',
    ours: delays,
    goal: 100,
    atMost: true,
  });
};

/** Endpoint 14 (docs/design/conversions.md): calls of 10,000. */
export const conversions: Scenario = async (bench) => {
  const own = await conversionServiceOf(bench);
  const { url } = await bench.createDatabase();
  const peers: Peers = {
    bare: await bareInsert(url, IN_FLIGHT),
    knex: await knexInsert(url, IN_FLIGHT),
    ids: newIds(),
  };
  bench.atEnd(async () => {
    await peers.bare.close();
    await peers.knex.close();
  });
  return [
    ...(await largeCalls(bench, await openSource(own, 'large'), peers)),
    ...(await otherLargeCalls(bench, await openSource(own, 'other'))),
    await eventLoopDelay(bench, await openSource(own, 'loop')),
  ];
};

/** Endpoint 14: calls of 1 and of 100. */
export const smallConversions: Scenario = async (bench) =>
  smallCalls(bench, await openSource(await conversionServiceOf(bench), 'small'));

/** Endpoint 14: calls of 10,000 to a source that knows many events. Its memory holds all of them. */
export const manyConversions: Scenario = async (bench) =>
  growthOfKnown(bench, await conversionServiceOf(bench, { CONVERSIONS_MEMORY_MB: '4096' }));
