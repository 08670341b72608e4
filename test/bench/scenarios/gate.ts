import { startChildServer, type ChildServer } from '../child-server.ts';
import { rawRequest, type LoadOptions } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { authorized, loadWell } from './advertiser-requests.ts';
import { openStage } from '../stage.ts';
import type { Bench, Scenario } from './scenario.ts';

/** Answers the same without the gate. */
interface Peer {
  readonly name: string;
  readonly port: number;
  readonly path: string;
}

const CONNECTIONS = 32;
const GOAL = 1.25;
/** Short turns, and many: what else goes on on the machine hits both sides of a comparison alike. */
const TURNS = 5;

/**
 * What authentication, limits and security headers cost, beside the same handler without them: in time, and in the
 * processor's time. The line with all three is also compared with a bare Express handler.
 */
export const gateCost: Scenario = async (bench) => {
  const lines = await compareWith(bench, 'memory', {});
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
    const turn = (port: number, request: string, seconds = bench.seconds / TURNS) =>
      measureTurn(kernel, { port, connections: CONNECTIONS, seconds, request: () => request });
    await turn(peer.port, bare, bench.seconds);
    await turn(kernel.port, ours, bench.seconds);
    const result = await alternate(
      bench.rounds * TURNS,
      () => turn(kernel.port, ours),
      () => turn(peer.port, bare),
    );
    const line = (unit: string, figure: (turn: Turn) => number): Line =>
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

/** What one request took, us. */
interface Turn {
  readonly elapsedUs: number;
  /** Of the kernel's process alone: what else the machine does is not in it, nor what the stores behind it do. */
  readonly cpuUs: number;
}

const measureTurn = async (kernel: ChildServer, load: LoadOptions): Promise<Turn> => {
  const before = await kernel.cpuMicros();
  const { requests, perSecond } = await loadWell(load);
  return {
    elapsedUs: 1_000_000 / perSecond,
    cpuUs: ((await kernel.cpuMicros()) - before) / requests,
  };
};
