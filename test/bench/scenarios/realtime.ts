import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Pool as HttpPool } from 'undici';
import { createAccount } from '../../../app/create-account.ts';
import { readConfig } from '../../../app/config.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { addressOf, startTcpProxy, throughProxy, type TcpProxy } from '../../faults/kit/tcp-proxy.ts';
import { measureCollected } from '../../support/collected-memory.ts';
import { openWithLongTimeouts } from '../../support/open-with-long-timeouts.ts';
import { sampleKeys } from '../../support/sample-mails.ts';
import { framesOf } from '../../support/sse.ts';
import { until } from '../../support/until.ts';
import { startChildServer } from '../child-server.ts';
import { alternate, lineOf, quantile, type Line } from '../measure.ts';
import { startService } from '../service-process.ts';
import { startOwnService } from '../stage.ts';
import { advertisersPath, authorized } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

const path = '/api/v2/buyer/realtime';

/** How soon a stream shows a write, and what a thousand idle streams cost. */
export const realtime: Scenario = async (bench) => [...(await delays(bench)), ...(await idleStreams(bench))];

const openStream = async (
  port: number,
  streamPath: string,
  headers: Readonly<Record<string, string>>,
): Promise<IncomingMessage> => {
  const request = get({ host: '127.0.0.1', port, path: streamPath, headers, agent: false });
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`no stream: ${response.statusCode}`);
  response.on('error', () => undefined);
  return response.setEncoding('utf8');
};

const WRITES_PER_SECOND = 100;
const SECONDS_MIN = 0.7;

interface Target {
  readonly port: number;
  readonly writePath: string;
  readonly streamPath: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Delays {
  readonly afterAnswer: readonly number[];
  readonly afterRequest: readonly number[];
}

const delays = async (bench: Bench): Promise<readonly Line[]> => {
  const own = await startOwnService(bench);
  const { url } = await bench.createDatabase();
  const bare = await startChildServer('bare-realtime.js', { DATABASE_URL: url });
  bench.atEnd(() => bare.stop());
  const seconds = Math.max(SECONDS_MIN, bench.seconds);
  const ofService = await openTarget(
    bench,
    { port: own.service.port, writePath: advertisersPath, streamPath: path, headers: authorized(own) },
    seconds,
  );
  const ofBare = await openTarget(
    bench,
    { port: bare.port, writePath: '/rows', streamPath: '/stream', headers: {} },
    seconds,
  );
  const { ours, baseline, ...observed } = await alternate(
    bench.rounds,
    ofService,
    ofBare,
    bench.warmUpRounds,
  );
  const at = `${WRITES_PER_SECOND} writes/s`;
  const afterAnswer = (share: string, of: number, goal: number): Line =>
    lineOf({
      name: `realtime, from the 2xx of a write to its frame, ${at}, ${share}`,
      unit: 'ms',
      ours: ours.map((each) => quantile(each.afterAnswer, of)),
      goal,
      atMost: true,
      ...observed,
    });
  // The bare peer notifies before it answers, so its delay after the answer says nothing.
  const afterRequest = (share: string, of: number): Line =>
    lineOf({
      name: `realtime, from a write's request to its frame, ${at}, ${share}`,
      unit: 'ms',
      ours: ours.map((each) => quantile(each.afterRequest, of)),
      baseline: baseline.map((each) => quantile(each.afterRequest, of)),
      baselineName: 'Express 5 + insert with NOTIFY, LISTEN to a stream',
      ...observed,
    });
  return [
    afterAnswer('p50', 0.5, 50),
    afterAnswer('p99', 0.99, 250),
    afterRequest('p50', 0.5),
    afterRequest('p99', 0.99),
  ];
};

const FRAMES_MS_MAX = 20_000;

/** @returns measures: writes at a steady rate, with one stream open. */
const openTarget = async (
  bench: Bench,
  { port, writePath, streamPath, headers }: Target,
  seconds: number,
): Promise<() => Promise<Delays>> => {
  const arrived = new Map<string, number>();
  const stream = await openStream(port, streamPath, headers);
  let rest = '';
  stream.on('data', (text: string) => {
    const atMs = performance.now();
    const known = rest + text;
    const end = known.lastIndexOf('\n\n') + 1;
    rest = known.slice(end);
    for (const { data } of framesOf(`${known.slice(0, end)}\n`)) {
      const { data: { resourceId } = {} } = JSON.parse(data) as { data?: { resourceId?: string } };
      if (resourceId !== undefined) arrived.set(resourceId, atMs);
    }
  });
  const http = new HttpPool(`http://127.0.0.1:${port}`, { connections: 32 });
  bench.atEnd(async () => {
    stream.destroy();
    await http.close();
  });
  const body = JSON.stringify({ name: 'Bench' });
  const write = async (written: Map<string, { sentMs: number; answeredMs: number }>): Promise<void> => {
    const sentMs = performance.now();
    const answer = await http.request({
      method: 'POST',
      path: writePath,
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const answeredMs = performance.now();
    const { data } = (await answer.body.json()) as { data: { id: number } | null };
    if (data === null) throw new Error(`a write was refused: ${answer.statusCode}`);
    written.set(String(data.id), { sentMs, answeredMs });
  };
  return async () => {
    arrived.clear();
    const written = new Map<string, { sentMs: number; answeredMs: number }>();
    const writes: Promise<void>[] = [];
    const startMs = performance.now();
    for (let n = 0; n < WRITES_PER_SECOND * seconds; n += 1) {
      const waitMs = startMs + (n * 1_000) / WRITES_PER_SECOND - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      writes.push(write(written));
    }
    await Promise.all(writes);
    await until(async () => arrived.size >= written.size, FRAMES_MS_MAX);
    const since = (of: 'sentMs' | 'answeredMs'): readonly number[] =>
      [...written].map(([id, times]) => (arrived.get(id) ?? Number.NaN) - times[of]);
    return { afterAnswer: since('answeredMs'), afterRequest: since('sentMs') };
  };
};

const USERS = 100;
const STREAMS_OF_USER = 10;
const STREAMS = USERS * STREAMS_OF_USER;
/** One poll for all accounts each 100 ms. A statement a stream and heartbeat would be 67 a second. */
const STATEMENTS_PER_SECOND_MAX = 15;
const SETTLE_MS = 400;

/** One user an account: most polled accounts, and no ring that streams share. */
const idleStreams = async (bench: Bench): Promise<readonly Line[]> => {
  const collected = await measureCollected();
  const { url: databaseUrl } = await bench.createDatabase();
  const settings = { DATABASE_URL: databaseUrl, NODE_ENV: 'test', SECRET_KEYS: sampleKeys };
  const proxy = await startTcpProxy(addressOf(databaseUrl));
  bench.atEnd(() => proxy.close());
  const service = await startService({
    ...settings,
    ...collected.environment,
    DATABASE_URL: throughProxy(databaseUrl, proxy),
  });
  bench.atEnd(() => service.kill());
  const installation = await openWithLongTimeouts(readConfig(settings), 'bench');
  const keys: string[] = [];
  try {
    for (let user = 0; user < USERS; user += 1)
      keys.push((await createAccount(installation, `User ${user}`)).apiKey);
  } finally {
    await installation.close();
  }
  const openAll = async (): Promise<readonly IncomingMessage[]> => {
    const streams: IncomingMessage[] = [];
    for (const apiKey of keys) {
      const open = () => openStream(service.port, path, authorized({ apiKey }));
      streams.push(...(await Promise.all(Array.from({ length: STREAMS_OF_USER }, open))));
    }
    for (const stream of streams) stream.resume();
    await sleep(SETTLE_MS);
    return streams;
  };
  const closeAll = async (streams: readonly IncomingMessage[]): Promise<void> => {
    for (const stream of streams) stream.destroy();
    await sleep(SETTLE_MS);
  };
  const seconds = bench.quick ? 1 : 15;
  // The first streams also cost what stays: compiled code, prepared statements, pools.
  await closeAll(await openAll());
  const [none, statementsOfNone] = [await collected.measure(), await statementsPerSecond(proxy, seconds)];
  const streams = await openAll();
  const [open, statements] = [await collected.measure(), await statementsPerSecond(proxy, seconds)];
  await closeAll(streams);
  const kb = (bytes: number): number => bytes / STREAMS / 1_000;
  const of = `${STREAMS.toLocaleString('en')} open streams of ${USERS} users`;
  return [
    lineOf({
      name: `realtime, memory of each of ${of}`,
      unit: 'kB',
      ours: [kb(open.bytes - none.bytes)],
      goal: 20,
      atMost: true,
      note: `heap and external memory after a collection; resident memory grew by ${kb(open.residentBytes - none.residentBytes).toPrecision(3)} kB a stream`,
    }),
    lineOf({
      name: `realtime, statements that ${of} add while nothing happens`,
      unit: '/s',
      ours: [Math.max(0, statements - statementsOfNone)],
      goal: STATEMENTS_PER_SECOND_MAX,
      atMost: true,
      note: `${statementsOfNone.toPrecision(3)}/s without streams`,
    }),
  ];
};

const statementsPerSecond = async (proxy: TcpProxy, seconds: number): Promise<number> => {
  const [before, startMs] = [proxy.sent, performance.now()];
  await sleep(seconds * 1_000);
  return (proxy.sent - before) / ((performance.now() - startMs) / 1_000);
};
