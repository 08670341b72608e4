import { isoTimestamp, systemClock } from '../../../shared/async/clock.ts';
import { apiOf } from '../../support/api-client.ts';
import { newIds } from '../conversion-requests.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { startService } from '../service-process.ts';
import { startOwnService } from '../stage.ts';
import { advertisersPath, authorized, createRequests, newestIds, rate } from './advertiser-requests.ts';
import { openSource, ourRate } from './conversions.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 32;

/**
 * Two API processes on one database against one of them; requests alternate between both. The first process runs the
 * read models and jobs in both cases. On a machine with few cores, a ratio near 1 is the best possible.
 */
export const twoProcesses: Scenario = async (bench) => {
  const own = await startOwnService(bench);
  const second = await startService({ DATABASE_URL: own.databaseUrl, NODE_ENV: 'test', ROLES: 'api' });
  bench.atEnd(() => second.kill());
  const one = [own.service.port];
  const both = [own.service.port, second.port];
  const lines: Line[] = [];
  const compare = async (
    name: string,
    unit: string,
    measure: (ports: readonly number[]) => Promise<number>,
  ): Promise<void> => {
    const result = await alternate(
      bench.rounds,
      () => measure(both),
      () => measure(one),
    );
    lines.push(lineOf({ name: `${name}, two API processes`, unit, ...result, baselineName: 'one' }));
  };
  const create = createRequests(advertisersPath, () => authorized(own));
  await compare('POST /advertisers, 32 connections', '/s', async (ports) => {
    const perSecond = await rate(ports, CONNECTIONS, bench.seconds, create);
    await newestIds(own.service.port, own, 1);
    return perSecond;
  });
  const [id] = await newestIds(own.service.port, own, 1);
  for (const [name, path] of [
    ['GET list of 50', `${advertisersPath}?take=50`],
    ['GET detail', `${advertisersPath}/${id}`],
  ] as const) {
    const request = rawRequest('GET', path, authorized(own));
    await compare(name, '/s', (ports) => rate(ports, CONNECTIONS, bench.seconds, () => request));
  }
  for (const [count, inFlight] of [
    [10_000, 4],
    [100, CONNECTIONS],
  ] as const) {
    const source = await openSource(own, `two-${count}`);
    const ids = newIds();
    await compare(`conversions, ${count} a call, all new`, 'events/s', (ports) =>
      ourRate(source, ids, count, inFlight, bench.seconds, undefined, ports),
    );
  }
  await checkCountedOnce(own.service.port, second.port, own.apiKey);
  return lines;
};

/** @throws Error if both processes accept the same event as new */
const checkCountedOnce = async (firstPort: number, secondPort: number, apiKey: string): Promise<void> => {
  const event = { eventId: 'once', eventTime: isoTimestamp(systemClock.now()), eventType: 'purchase' };
  const accepted: number[] = [];
  for (const port of [firstPort, secondPort]) {
    const api = apiOf(`http://127.0.0.1:${port}`, authorized({ apiKey }));
    const answer = await api.post<{ accepted: number }>('/event-sources/two-100/events', { events: [event] });
    accepted.push(answer.body.data.accepted);
  }
  if (accepted.join() !== '1,0') throw new Error(`accepted by the two: ${accepted.join()}`);
};
