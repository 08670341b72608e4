import { startChildServer } from '../child-server.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { authorized, rate } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

/** Answers the same without the gate. */
interface Peer {
  readonly name: string;
  readonly port: number;
  readonly path: string;
}

const CONNECTIONS = 32;
const GOAL = 1.25;

/**
 * What authentication, limits and security headers cost, beside the same handler without them. The line with all
 * three is also compared with a bare Express handler.
 */
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
  const same: Peer = { name: 'same handler, nothing else', port: kernel.barePort, path: '/bare' };
  const express: Peer = { name: 'Express 5, constant', port: stage.bare.port, path: '/constant' };
  const compare = async (name: string, path: string, peer = same): Promise<Line> => {
    const bare = rawRequest('GET', peer.path, {});
    const ours = rawRequest('GET', path, authorized(stage));
    const usOf = async (port: number, request: string): Promise<number> =>
      1_000_000 / (await rate(port, CONNECTIONS, bench.seconds, () => request));
    const result = await alternate(
      bench.rounds,
      () => usOf(kernel.port, ours),
      () => usOf(peer.port, bare),
    );
    return lineOf({
      name: `${name}, counters in ${store}`,
      unit: 'us',
      ...result,
      baselineName: peer.name,
      goal: GOAL,
      atMost: true,
    });
  };
  return [
    await compare('security headers', '/public'),
    await compare('and a limit by address', '/address'),
    await compare('and authentication, no limit', '/verified'),
    await compare('authentication, limit, headers', '/private'),
    await compare('authentication, limit, headers', '/private', express),
  ];
};
