import { startChildServer } from '../child-server.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { authorized, rate } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

const CONNECTIONS = 32;
const GOAL = 1.25;

/** What authentication, limits and security headers cost, beside the same handler without them. */
export const gateCost: Scenario = async (bench) => {
  const lines = await compareWith(bench, 'Postgres', {});
  const redisUrl = process.env['REDIS_URL'];
  if (redisUrl === undefined) {
    process.stderr.write('gate: no REDIS_URL, so not measured with Redis\n');
    return lines;
  }
  return [...lines, ...(await compareWith(bench, 'Redis', { REDIS_URL: redisUrl }))];
};

const compareWith = async (
  bench: Bench,
  store: string,
  environment: Readonly<Record<string, string>>,
): Promise<readonly Line[]> => {
  const stage = await bench.stage();
  const kernel = await startChildServer('bare-kernel.js', {
    DATABASE_URL: stage.databaseUrl,
    REDIS_URL: '',
    ...environment,
  });
  bench.atEnd(() => kernel.stop());
  const bare = rawRequest('GET', '/bare', {});
  const compare = async (name: string, path: string): Promise<Line> => {
    const ours = rawRequest('GET', path, authorized(stage));
    const usOf = async (port: number, request: string): Promise<number> =>
      1_000_000 / (await rate(port, CONNECTIONS, bench.seconds, () => request));
    const result = await alternate(
      bench.rounds,
      () => usOf(kernel.port, ours),
      () => usOf(kernel.barePort, bare),
    );
    return lineOf({
      name: `${name}, counters in ${store}`,
      unit: 'us',
      ...result,
      baselineName: 'same handler, nothing else',
      goal: GOAL,
      atMost: true,
    });
  };
  return [
    await compare('security headers', '/public'),
    await compare('and a limit by address', '/address'),
    await compare('and authentication, no limit', '/verified'),
    await compare('authentication, limit, headers', '/private'),
  ];
};
