import { sleep } from '../../../shared/async/backoff.ts';
import { startChildServer } from '../child-server.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { advertisersPath, authorized, createRequests, newestIds, rate } from './advertiser-requests.ts';
import { fillBoth } from './http.ts';
import { openStage } from '../stage.ts';
import type { Bench, Scenario, Stage } from './scenario.ts';

const CONNECTIONS = 32;

/** A read of the service, and a peer's read with the same answer. */
interface Read {
  readonly name: string;
  readonly path: string;
  readonly barePath: string;
}

const readsOf = async (stage: Stage): Promise<readonly Read[]> => {
  await fillBoth(stage, 1_000);
  const [id] = await newestIds(stage.service.port, stage, 1);
  return [
    { name: 'GET list of 50', path: `${advertisersPath}?take=50`, barePath: '/advertisers' },
    { name: 'GET detail', path: `${advertisersPath}/${id}`, barePath: '/advertisers/1' },
  ];
};

const compare = async (bench: Bench, ours: () => Promise<number>, port: number, barePath: string) => {
  const bare = rawRequest('GET', barePath, {});
  return alternate(bench.rounds, ours, () => rate(port, CONNECTIONS, bench.seconds, () => bare));
};

/**
 * The cost for a client that has the answer already: the same request again, with `If-None-Match` where the service
 * sends an ETag. Against Express 5 with a query for each request.
 */
export const unchangedReads: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const { port } = stage.service;
  const lines: Line[] = [];
  for (const { name, path, barePath } of await readsOf(stage)) {
    const first = await fetch(`http://127.0.0.1:${port}${path}`, { headers: authorized(stage) });
    const etag = first.headers.get('etag');
    const condition: Record<string, string> = etag === null ? {} : { 'If-None-Match': etag };
    const request = rawRequest('GET', path, { ...authorized(stage), ...condition });
    const ours = (): Promise<number> => rate(port, CONNECTIONS, bench.seconds, () => request);
    lines.push(
      lineOf({
        name: `${name}, unchanged`,
        unit: '/s',
        ...(await compare(bench, ours, stage.bare.port, barePath)),
        baselineName: 'Express 5 + prepared query',
        goal: 4,
        note: etag === null ? 'no ETag is offered: the whole answer, from memory' : 'If-None-Match, 304',
      }),
    );
  }
  return lines;
};

/** Time between two changes, in ms. */
const CHANGE_EVERY_MS = 50;

/** Runs `work` while `change` repeats. */
const whileChanging = async <T>(change: () => Promise<unknown>, work: () => Promise<T>): Promise<T> => {
  let isOver = false;
  const changing = async (): Promise<void> => {
    for (; !isOver; await sleep(CHANGE_EVERY_MS)) await change();
  };
  const working = work().finally(() => {
    isOver = true;
  });
  const [result] = await Promise.all([working, changing()]);
  return result;
};

/** The list while it changes some 20 times per second, so that few answers come from memory. */
export const changingReads: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const [list] = await readsOf(stage);
  if (list === undefined) return [];
  const createOurs = createRequests(advertisersPath, () => authorized(stage));
  const createBare = createRequests('/advertisers', () => ({}));
  const ours = rawRequest('GET', list.path, authorized(stage));
  const bare = rawRequest('GET', list.barePath, {});
  const changed = (port: number, create: () => string, request: string): Promise<number> =>
    whileChanging(
      () => rate(port, 1, 0, create),
      () => rate(port, CONNECTIONS, bench.seconds, () => request),
    );
  const result = await alternate(
    bench.rounds,
    () => changed(stage.service.port, createOurs, ours),
    () => changed(stage.bare.port, createBare, bare),
    bench.warmUpRounds,
  );
  return [
    lineOf({
      name: `${list.name}, changed every ${CHANGE_EVERY_MS} ms`,
      unit: '/s',
      ...result,
      baselineName: 'Express 5 + prepared query',
      goal: 1.5,
    }),
  ];
};

/** The same reads against the limit for reads from the database: Node's own server and a prepared statement. */
export const bareNodeReads: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const reads = await readsOf(stage);
  const node = await startChildServer('bare-node.js', { DATABASE_URL: stage.bare.databaseUrl });
  bench.atEnd(() => node.stop());
  const lines: Line[] = [];
  for (const { name, path, barePath } of reads) {
    const request = rawRequest('GET', path, authorized(stage));
    const ours = (): Promise<number> => rate(stage.service.port, CONNECTIONS, bench.seconds, () => request);
    const express = rawRequest('GET', barePath, {});
    const expressRate = (): Promise<number> =>
      rate(stage.bare.port, CONNECTIONS, bench.seconds, () => express);
    const baselineName = 'bare Node + prepared query';
    lines.push(
      lineOf({ name, unit: '/s', ...(await compare(bench, ours, node.port, barePath)), baselineName }),
      lineOf({
        name: `${name}, by Express 5 + prepared query`,
        unit: '/s',
        ...(await compare(bench, expressRate, node.port, barePath)),
        baselineName,
        note: 'two peers, for scale',
      }),
    );
  }
  return lines;
};
