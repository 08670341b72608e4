import { startChildServer, type ChildServer } from '../child-server.ts';
import { rawRequest, type LoadOptions } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { authorized, loadWell } from './advertiser-requests.ts';
import { openStage } from '../stage.ts';
import type { Bench, Scenario } from './scenario.ts';

/** Gives the same answer without authentication, limits and security headers. */
interface Peer {
  readonly name: string;
  readonly port: number;
  readonly path: string;
}

const CONNECTIONS = 32;
const GOAL = 1.25;
/** Many short measurements, so that other load on the machine affects both sides equally. */
const SHORT_ROUNDS = 5;

/**
 * The cost of authentication, limits and security headers against the same handler without them, in elapsed and
 * processor time. The line with all three is also compared with a bare Express handler.
 */
export const gateCost: Scenario = async (bench) => {
  const lines = await compareWith(bench, 'memory', {});
  const redisUrl = process.env['REDIS_URL'];
  if (redisUrl === undefined) {
    process.stderr.write('gate: not measured with Redis, REDIS_URL is not set\n');
    return lines;
  }
  return [...lines, ...(await compareWith(bench, 'Redis', { REDIS_URL: redisUrl }))];
};

const compareWith = async (
  bench: Bench,
  store: string,
  environment: Readonly<Record<string, string>>,
): Promise<readonly Line[]> => {
  const stage = await bench.shared(openStage);
  const kernel = await startChildServer('bare-kernel.js', {
    DATABASE_URL: stage.databaseUrl,
    REDIS_URL: '',
    ...environment,
  });
  bench.atEnd(() => kernel.stop());
  const same: Peer = { name: 'same handler, nothing else', port: kernel.barePort, path: '/.well-known/bare' };
  const express: Peer = { name: 'Express 5, constant', port: stage.bare.port, path: '/constant' };
  const compare = async (name: string, path: string, peer = same): Promise<readonly Line[]> => {
    const bare = rawRequest('GET', peer.path, {});
    const ours = rawRequest('GET', path, authorized(stage));
    const measure = (port: number, request: string, seconds = bench.seconds / SHORT_ROUNDS) =>
      measureCost(kernel, { port, connections: CONNECTIONS, seconds, request: () => request });
    await measure(peer.port, bare, bench.seconds);
    await measure(kernel.port, ours, bench.seconds);
    const result = await alternate(
      bench.rounds * SHORT_ROUNDS,
      () => measure(kernel.port, ours),
      () => measure(peer.port, bare),
    );
    const line = (unit: string, figure: (cost: RequestCost) => number): Line =>
      lineOf({
        name: `${name}, counters in ${store}`,
        unit,
        ours: result.ours.map(figure),
        baseline: result.baseline.map(figure),
        baselineName: peer.name,
        goal: GOAL,
        atMost: true,
      });
    const elapsed = line('us', ({ elapsedUs }) => elapsedUs);
    return peer === same ? [elapsed, line('us of CPU', ({ cpuUs }) => cpuUs)] : [elapsed];
  };
  return [
    ...(await compare('security headers', '/.well-known/public')),
    ...(await compare('and a limit by address', '/address')),
    ...(await compare('and authentication, no limit', '/.well-known/verified')),
    ...(await compare('authentication, limit, headers', '/private')),
    ...(await compare('authentication, limit, headers', '/private', express)),
  ];
};

/** The cost of one request, in us. */
interface RequestCost {
  readonly elapsedUs: number;
  /** Only of the kernel's process, without the stores and other processes. */
  readonly cpuUs: number;
}

const measureCost = async (kernel: ChildServer, load: LoadOptions): Promise<RequestCost> => {
  const before = await kernel.cpuMicros();
  const { requests, perSecond } = await loadWell(load);
  return {
    elapsedUs: 1_000_000 / perSecond,
    cpuUs: ((await kernel.cpuMicros()) - before) / requests,
  };
};
