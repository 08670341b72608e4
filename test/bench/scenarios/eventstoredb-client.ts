import { appendRate } from '../append-peers.ts';
import {
  adapterAppender,
  catchUpRate,
  copyRate,
  fillWith,
  openAdapter,
  readAllRate,
  unaryAppender,
} from '../eventstoredb-peers.ts';
import { findEventStoreServer } from '../eventstoredb-server.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import type { Bench, Scenario } from './scenario.ts';

const GOAL = 0.8;
const COPY_GOAL = 0.6;
const COPY_CALLERS = 16;

/** The EventStoreDB adapter against the client that it uses, on one server. */
export const eventStoreDbClient: Scenario = async (bench) => {
  const url = await findEventStoreServer(bench, 'eventstoredb-client');
  if (url === undefined) return [];
  const lines: Line[] = [];
  for (const callers of [1, 16, 64]) lines.push(await appendLine(bench, url, callers));
  lines.push(await catchUpLine(bench, url), await copyLine(bench, url));
  return lines;
};

const appendLine = async (bench: Bench, url: string, callers: number): Promise<Line> => {
  const [ours, unary] = [adapterAppender(url), unaryAppender(url)];
  const result = await alternate(
    bench.rounds,
    () => appendRate(ours, callers, bench.seconds),
    () => appendRate(unary, callers, bench.seconds),
  );
  await Promise.all([ours.close(), unary.close()]);
  return lineOf({
    name: `EventStoreDB: append, ${callers} ${callers === 1 ? 'caller' : 'callers'}`,
    unit: '/s',
    ...result,
    baselineName: 'unary append of the client',
    goal: GOAL,
  });
};

const catchUpLine = async (bench: Bench, url: string): Promise<Line> => {
  const store = openAdapter(url);
  const start = await fillWith(store, bench.quick ? 10_000 : 100_000);
  const result = await alternate(
    bench.rounds,
    () => catchUpRate(store, start),
    () => readAllRate(url, start),
  );
  await store.close();
  return lineOf({
    name: 'EventStoreDB: a subscriber catches up',
    unit: 'events/s',
    ...result,
    baselineName: 'readAll of the client',
    goal: GOAL,
  });
};

const copyLine = async (bench: Bench, url: string): Promise<Line> => {
  const [store, unary] = [openAdapter(url), unaryAppender(url)];
  const result = await alternate(
    bench.rounds,
    () => copyRate(store, bench.quick ? 500 : 5_000),
    () => appendRate(unary, COPY_CALLERS, bench.seconds),
  );
  await Promise.all([store.close(), unary.close()]);
  return lineOf({
    name: 'EventStoreDB: events copy, one event a stream',
    unit: 'events/s',
    ...result,
    baselineName: `unary append of the client, ${COPY_CALLERS} callers`,
    goal: COPY_GOAL,
  });
};
