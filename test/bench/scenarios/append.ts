import {
  appendRate,
  bareAppender,
  emmettAppender,
  ourAppender,
  transactionAppender,
  type Appender,
} from '../append-peers.ts';
import { runSql } from '../bench-database.ts';
import { fillLog } from '../fill-log.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import type { Bench, Scenario } from './scenario.ts';

const WRITERS = 32;

/**
 * The rate of emmett-postgresql relative to `transactionAppender` with 32 writers, from the project's comparison of
 * peers (3,710 of 6,160 per second). It converts goals against emmett into goals against the stand-in.
 */
const EMMETT_OF_TRANSACTIONS = 0.6;

/** Appends single events to distinct streams through the port, in this process. */
export const appends: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const ours = ourAppender(url);
  const bare = await bareAppender(url, 1);
  const emmett = await emmettAppender(url, bench.peersDirectory);
  const peer = emmett ?? (await transactionAppender(url, WRITERS));
  try {
    const peers = { appender: peer, emmettVersion: emmett?.version };
    return [
      await aloneLine(bench, ours, bare),
      await crowdLine(bench, ours, peers, WRITERS, 7),
      await crowdLine(bench, ours, peers, 256, 10),
      await growthLine(bench, ours),
    ];
  } finally {
    await Promise.all([ours, bare, peer].map((appender) => appender.close()));
  }
};

/** Compares a long log with a short one. */
const growthLine = async (bench: Bench, ours: Appender): Promise<Line> => {
  const { url } = await bench.createDatabase();
  await fillLog(url, 1, bench.growTo);
  await runSql(url, 'vacuum analyze');
  const long = ourAppender(url);
  bench.atEnd(() => long.close());
  const result = await alternate(
    bench.rounds,
    () => appendRate(long, WRITERS, bench.seconds),
    () => appendRate(ours, WRITERS, bench.seconds),
  );
  return lineOf({
    name: `append, ${WRITERS} callers, to ${bench.growTo.toLocaleString('en')} events`,
    unit: '/s',
    ...result,
    baselineName: 'to those of this scenario',
    goal: 1 / 1.3,
  });
};

const aloneLine = async (bench: Bench, ours: Appender, bare: Appender): Promise<Line> => {
  const result = await alternate(
    bench.rounds,
    () => appendRate(ours, 1, bench.seconds),
    () => appendRate(bare, 1, bench.seconds),
  );
  return lineOf({
    name: 'append, 1 caller',
    unit: '/s',
    ...result,
    baselineName: 'one prepared INSERT',
    goal: 1,
  });
};

const crowdLine = async (
  bench: Bench,
  ours: Appender,
  { appender, emmettVersion }: { readonly appender: Appender; readonly emmettVersion: string | undefined },
  callers: number,
  goalOfEmmett: number,
): Promise<Line> => {
  const result = await alternate(
    bench.rounds,
    () => appendRate(ours, callers, bench.seconds),
    () => appendRate(appender, WRITERS, bench.seconds),
  );
  const isEmmett = emmettVersion !== undefined;
  const name = isEmmett ? `emmett-postgresql ${emmettVersion}` : 'transaction per append';
  return lineOf({
    name: `append, ${callers} callers`,
    unit: '/s',
    ...result,
    baselineName: `${name}, ${WRITERS} writers`,
    goal: isEmmett ? goalOfEmmett : goalOfEmmett * EMMETT_OF_TRANSACTIONS,
    ...(isEmmett ? {} : { note: `stands in for ${goalOfEmmett}x emmett-postgresql, which is not installed` }),
  });
};
