import { findEventStoreServer } from '../eventstoredb-server.ts';
import { fillWith, openAdapter } from '../eventstoredb-peers.ts';
import { alternate, lineOf, quantile, type Line } from '../measure.ts';
import { startService } from '../service-process.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { advertisersPath, authorized, createRequests, rate } from './advertiser-requests.ts';
import { newIds } from '../conversion-requests.ts';
import { openSource, ourRate } from './conversions.ts';
import type { Bench, Scenario } from './scenario.ts';

/** Ratio to the same service with its events in Postgres. */
const GOAL = 0.6;
const FOREIGN_EVENTS = 100_000;
const START_DELAY_SECONDS_MAX = 5;
const CREATE_CALLERS = [1, 16];
/** Events in a call, and concurrent calls. */
const CONVERSIONS = [
  [10_000, 4],
  [1, 32],
] as const;
const BASELINE = 'events in Postgres';

/** The service in one process with a real EventStoreDB, against the same service with its events in Postgres. */
export const onEventStoreDb: Scenario = async (bench) => {
  const url = await findEventStoreServer(bench, 'eventstoredb');
  if (url === undefined) return [];
  const there = await startOwnService(bench, { EVENTSTORE_URL: url });
  const here = await startOwnService(bench, { EVENTSTORE_URL: undefined });
  return [
    ...(await creates(bench, there, here)),
    ...(await conversions(bench, there, here)),
    // Last: each start creates its own account in the log.
    await startLine(bench, url),
  ];
};

/** How much later a service with an empty database is ready if the log contains events of other installations. */
const startLine = async (bench: Bench, url: string): Promise<Line> => {
  const rounds = bench.quick ? 1 : bench.rounds;
  const before = await startSeconds(bench, url, rounds);
  const store = openAdapter(url);
  await fillWith(store, FOREIGN_EVENTS);
  await store.close();
  const behind = await startSeconds(bench, url, rounds);
  return lineOf({
    name: `EventStoreDB: start delayed by ${FOREIGN_EVENTS} events of others`,
    unit: 's',
    ours: behind.map((seconds) => Math.max(0, seconds - quantile(before, 0.5))),
    goal: START_DELAY_SECONDS_MAX,
    atMost: true,
  });
};

const startSeconds = async (bench: Bench, url: string, rounds: number): Promise<readonly number[]> => {
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const database = await bench.createDatabase();
    const service = await startService({ DATABASE_URL: database.url, EVENTSTORE_URL: url });
    await service.stop();
    seconds.push(service.readyMs / 1000);
  }
  return seconds;
};

const creates = async (
  bench: Bench,
  onEventStore: OwnService,
  onPostgres: OwnService,
): Promise<readonly Line[]> => {
  const lines: Line[] = [];
  for (const callers of CREATE_CALLERS) {
    const ours = createRequests(advertisersPath, () => authorized(onEventStore));
    const baseline = createRequests(advertisersPath, () => authorized(onPostgres));
    const result = await alternate(
      bench.rounds,
      () => rate(onEventStore.service.port, callers, bench.seconds, ours),
      () => rate(onPostgres.service.port, callers, bench.seconds, baseline),
      bench.warmUpRounds,
    );
    lines.push(
      lineOf({
        name: `POST /advertisers on EventStoreDB, ${callers} callers`,
        unit: 'req/s',
        ...result,
        baselineName: BASELINE,
        goal: GOAL,
      }),
    );
  }
  return lines;
};

const conversions = async (
  bench: Bench,
  onEventStore: OwnService,
  onPostgres: OwnService,
): Promise<readonly Line[]> => {
  const sources = [await openSource(onEventStore, 'bench'), await openSource(onPostgres, 'bench')] as const;
  const lines: Line[] = [];
  for (const [count, inFlight] of CONVERSIONS) {
    const [ids, baselineIds] = [newIds(4_000_000_000 + count), newIds(5_000_000_000 + count)];
    const result = await alternate(
      bench.rounds,
      () => ourRate(sources[0], ids, count, inFlight, bench.seconds),
      () => ourRate(sources[1], baselineIds, count, inFlight, bench.seconds),
      bench.warmUpRounds,
    );
    lines.push(
      lineOf({
        name: `conversions on EventStoreDB, ${count} a call, ${inFlight} in flight`,
        unit: 'events/s',
        ...result,
        baselineName: BASELINE,
        goal: GOAL,
      }),
    );
  }
  return lines;
};
