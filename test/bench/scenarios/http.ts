import { randomUUID } from 'node:crypto';
import { startChildServer } from '../child-server.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { advertisersPath, authorized, createRequests, newestIds, rate } from './advertiser-requests.ts';
import { openStage } from '../stage.ts';
import type { Bench, Scenario, Stage } from './scenario.ts';

const CONNECTIONS = 32;

/** Waits until the read models have caught up, so that their work is not measured. */
const settle = async (stage: Stage): Promise<void> => {
  await newestIds(stage.service.port, stage, 1);
};

/** `POST /advertisers` against Express 5 with one prepared INSERT. */
export const createAdvertisers: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const ours = createRequests(advertisersPath, () => authorized(stage));
  const bare = createRequests('/advertisers', () => ({}));
  const result = await alternate(
    bench.rounds,
    async () => {
      const perSecond = await rate(stage.service.port, CONNECTIONS, bench.seconds, ours);
      await settle(stage);
      return perSecond;
    },
    () => rate(stage.bare.port, CONNECTIONS, bench.seconds, bare),
    bench.warmUpRounds,
  );
  return [
    lineOf({
      name: `POST /advertisers, ${CONNECTIONS} connections`,
      unit: '/s',
      ...result,
      baselineName: 'Express 5 + prepared INSERT',
      goal: 0.8,
    }),
  ];
};

/** Fills the bare server with `count` rows, and the service with enough advertisers for a page of 50. */
export const fillBoth = async (stage: Stage, count: number): Promise<void> => {
  await fetch(`http://127.0.0.1:${stage.bare.port}/fill`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ count }),
  });
  const create = createRequests(advertisersPath, () => authorized(stage));
  while ((await newestIds(stage.service.port, stage, 50)).length < 50) {
    await rate(stage.service.port, CONNECTIONS, 0.2, create);
  }
};

/** List of 50 and detail against Express 5 with one query that returns objects. */
export const readAdvertisers: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  await fillBoth(stage, 1_000);
  const [id] = await newestIds(stage.service.port, stage, 1);
  const compare = async (
    name: string,
    ourPath: string,
    barePath: string,
    baselineName: string,
    goal: number,
  ): Promise<Line> => {
    const ours = rawRequest('GET', ourPath, authorized(stage));
    const bare = rawRequest('GET', barePath, {});
    const result = await alternate(
      bench.rounds,
      () => rate(stage.service.port, CONNECTIONS, bench.seconds, () => ours),
      () => rate(stage.bare.port, CONNECTIONS, bench.seconds, () => bare),
    );
    return lineOf({ name, unit: '/s', ...result, baselineName, goal });
  };
  const prepared = 'Express 5 + prepared query';
  return [
    await compare('GET list of 50', `${advertisersPath}?take=50`, '/advertisers', prepared, 1.5),
    await compare('GET list of 50', `${advertisersPath}?take=50`, '/knex/advertisers', 'Express 5 + knex', 5),
    await compare('GET detail', `${advertisersPath}/${id}`, '/advertisers/1', prepared, 1.5),
  ];
};

/** A repeated write that is answered from its stored answer, against a new write. */
const repeatedLine = async (bench: Bench, stage: Stage): Promise<Line> => {
  const headers = { ...authorized(stage), 'Idempotency-Key': randomUUID() };
  // Always the same body: with another body the key would be refused.
  const repeated = (): string => createRequests(advertisersPath, () => headers)();
  await rate(stage.service.port, 1, 0, repeated);
  const fresh = createRequests(advertisersPath, () => authorized(stage));
  const msOf = async (request: () => string): Promise<number> =>
    (CONNECTIONS * 1000) / (await rate(stage.service.port, CONNECTIONS, bench.seconds, request));
  const result = await alternate(
    bench.rounds,
    () => msOf(repeated),
    () => msOf(fresh),
  );
  await settle(stage);
  return lineOf({
    name: `POST repeated with its idempotency key, ${CONNECTIONS} connections`,
    unit: 'ms',
    ...result,
    baselineName: 'a new one without',
  });
};

/** The time of a write with an idempotency key against the same without. */
export const keyedWrites: Scenario = async (bench) => {
  const stage = await bench.shared(openStage);
  const plain = createRequests(advertisersPath, () => authorized(stage));
  const keyed = createRequests(advertisersPath, () => ({
    ...authorized(stage),
    'Idempotency-Key': randomUUID(),
  }));
  const compare = async (connections: number): Promise<Line> => {
    const msOf = async (request: () => string): Promise<number> => {
      const perSecond = await rate(stage.service.port, connections, bench.seconds, request);
      await settle(stage);
      return (connections * 1000) / perSecond;
    };
    const result = await alternate(
      bench.rounds,
      () => msOf(keyed),
      () => msOf(plain),
    );
    return lineOf({
      name: `POST with an idempotency key, ${connections} connection${connections === 1 ? '' : 's'}`,
      unit: 'ms',
      ...result,
      baselineName: 'without',
      goal: 1.5,
      atMost: true,
    });
  };
  return [await compare(CONNECTIONS), await compare(1), await repeatedLine(bench, stage)];
};

/** The cost of the kernel: a constant answer through it and from a bare handler. */
export const kernelOverhead: Scenario = async (bench: Bench) => {
  const stage = await bench.shared(openStage);
  const kernel = await startChildServer('bare-kernel.js', { DATABASE_URL: stage.databaseUrl });
  bench.atEnd(() => kernel.stop());
  const bare = rawRequest('GET', '/constant', {});
  const compare = async (name: string, path: string): Promise<Line> => {
    const ours = rawRequest('GET', path, authorized(stage));
    const result = await alternate(
      bench.rounds,
      () => rate(kernel.port, CONNECTIONS, bench.seconds, () => ours),
      () => rate(stage.bare.port, CONNECTIONS, bench.seconds, () => bare),
    );
    return lineOf({ name, unit: '/s', ...result, baselineName: 'Express 5, constant' });
  };
  return [
    await compare('constant answer through the kernel, public', '/.well-known/public'),
    await compare('constant answer through the kernel, authenticated', '/private'),
  ];
};
