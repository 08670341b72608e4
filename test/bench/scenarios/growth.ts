import { randomUUID } from 'node:crypto';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { runSql } from '../bench-database.ts';
import { fillLog } from '../fill-log.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { advertisersPath, authorized, createRequests, newestIds, rate } from './advertiser-requests.ts';
import { middlePage } from './middle-page.ts';
import type { Bench, Scenario } from './scenario.ts';

const CONNECTIONS = 16;
const SMALL = 1_000;
const TAKE = 50;

/** The same requests to an account with few advertisers and to one with many, each on its own database. */
export const growth: Scenario = async (bench) => {
  const [small, large] = await Promise.all([filledService(bench, SMALL), filledService(bench, bench.growTo)]);
  const lines: Line[] = [];
  const compare = async (name: string, request: (own: OwnService, size: number) => () => string) => {
    const [ofSmall, ofLarge] = [request(small, SMALL), request(large, bench.growTo)];
    const msOf = async (own: OwnService, requests: () => string): Promise<number> => {
      const perSecond = await rate(own.service.port, CONNECTIONS, bench.seconds, requests);
      await newestIds(own.service.port, own, 1);
      return (CONNECTIONS * 1000) / perSecond;
    };
    const result = await alternate(
      bench.quick ? 2 : bench.rounds,
      () => msOf(large, ofLarge),
      () => msOf(small, ofSmall),
    );
    const size = bench.growTo.toLocaleString('en');
    lines.push(
      lineOf({
        name: `${name}, ${size} advertisers`,
        unit: 'ms',
        ...result,
        baselineName: `${SMALL.toLocaleString('en')} advertisers`,
        goal: 1.3,
        atMost: true,
      }),
    );
  };
  const get = (own: OwnService, path: string) => rawRequest('GET', path, authorized(own));
  const randomIds = new Map<OwnService, readonly number[]>([
    [small, await someIds(small)],
    [large, await someIds(large)],
  ]);
  await compare('GET detail, random', (own) => () => {
    const ids = randomIds.get(own) ?? [];
    return get(own, `${advertisersPath}/${ids[Math.floor(Math.random() * ids.length)]}`);
  });
  // Rarely repeats a page, so that the cost of finding an answer is measured, not of repeating it.
  const page = (own: OwnService, from: number, pages: number) => () => {
    const [skip, take] = [from + Math.floor(Math.random() * pages), TAKE - Math.floor(Math.random() * 20)];
    return get(own, `${advertisersPath}?take=${take}&skip=${skip}`);
  };
  await compare('GET list, among the first pages', (own) => page(own, 0, SMALL / 2));
  await compare('GET list, among the last pages', (own, size) =>
    page(own, size - SMALL / 2, SMALL / 2 - TAKE),
  );
  lines.push(
    await middlePage(
      bench,
      `GET list, in the middle, ${bench.growTo.toLocaleString('en')} advertisers`,
      large.service.port,
      page(large, bench.growTo / 2 - SMALL / 4, SMALL / 2),
    ),
  );
  await compare('POST', (own) => createRequests(advertisersPath, () => authorized(own)));
  await compare('POST with an idempotency key', (own) =>
    createRequests(advertisersPath, () => ({ ...authorized(own), 'Idempotency-Key': randomUUID() })),
  );
  return lines;
};

const filledService = async (bench: Bench, count: number): Promise<OwnService> => {
  const own = await startOwnService(bench);
  await fillLog(own.databaseUrl, own.customerId, count);
  await untilProjected(own);
  await runSql(own.databaseUrl, 'vacuum analyze');
  return own;
};

const PROJECTED_S_MAX = 600;

/** All read models: one that is still being filled would slow the larger account down, and not the smaller one. */
const untilProjected = async ({ databaseUrl }: OwnService): Promise<void> => {
  const endMs = performance.now() + PROJECTED_S_MAX * 1000;
  while (performance.now() < endMs) {
    const [row] = (await runSql(
      databaseUrl,
      `select min(position) = (select lpad(max(position)::text, 16, '0') from events) as done
       from projection_checkpoints`,
    )) as [{ done: boolean | null }];
    if (row.done === true) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
  throw new Error(`the read models were not filled within ${PROJECTED_S_MAX} s`);
};

const someIds = async ({ databaseUrl, customerId }: OwnService): Promise<readonly number[]> =>
  (
    (await runSql(
      databaseUrl,
      `select id from advertisers where customer_id = ${customerId} order by random() limit 1000`,
    )) as { id: number }[]
  ).map(({ id }) => id);
