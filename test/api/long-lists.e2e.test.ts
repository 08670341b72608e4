import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { NewEvent } from '../../shared/event-store/event-store.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';

/** Pages through a long list over HTTP from the first to the last item. */

let service: RunningService;
let account: TestAccount;
let advertisers: readonly AdvertiserResource[];

const COUNT = 2_400;
const AT_ONCE = 100;
const ARCHIVED = 40;
const FIRST_ID = 1_000_000;
const CAUGHT_UP_MS_MAX = 60_000;

/**
 * Appends without requests: copies of the first advertiser's events under other ids, three for each earlier
 * moment.
 */
const createMany = async (): Promise<void> => {
  const { id, createdAt } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'First' }))
    .body.data;
  const [event] = await service.eventsOf(`advertiser-${account.customerId}-${id}`);
  if (event === undefined) throw new Error('the advertiser has no event');
  const { type, data, metadata } = event;
  const append = async (n: number): Promise<void> => {
    const advertiserId = FIRST_ID + n;
    const at = new Date(Date.parse(createdAt) - Math.floor((COUNT - n) / 3) * 20).toISOString();
    const other = JSON.parse(
      JSON.stringify({ type, data, metadata })
        .replace(new RegExp(`"(id|advertiserId)":${id}\\b`, 'g'), `"$1":${advertiserId}`)
        .replaceAll(createdAt, at),
    ) as Pick<NewEvent, 'type' | 'data' | 'metadata'>;
    const stream = `advertiser-${account.customerId}-${advertiserId}`;
    await service.store.append(stream, [{ ...other, id: randomUUID() }], 'no-stream');
  };
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => append(from + n)));
  }
};

beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  await createMany();
  for (let n = 0; n < 30; n += 1) {
    await account.api.post('/advertisers', { name: `Number ${n}`, sandbox: n % 2 === 0 });
  }
  const archived = Array.from({ length: ARCHIVED }, (_, n) => FIRST_ID + n * 50);
  await Promise.all(archived.map((id) => account.api.delete(`/advertisers/${id}`)));
  await until(async () => {
    const { rows } = await service.pool.query<{ body: string }>(
      'select body from advertisers where customer_id = $1',
      [account.customerId],
    );
    advertisers = rows.map(({ body }) => JSON.parse(body) as AdvertiserResource);
    const gone = advertisers.filter(({ status }) => status === 'ARCHIVED');
    return advertisers.length === COUNT + 31 && gone.length === ARCHIVED;
  }, CAUGHT_UP_MS_MAX);
}, 120_000);
afterAll(() => service.stop());

const newestFirst = (a: AdvertiserResource, b: AdvertiserResource): number =>
  Date.parse(b.createdAt) - Date.parse(a.createdAt) || b.id - a.id;

it.each<readonly [string, (advertiser: AdvertiserResource) => boolean]>([
  ['status=ALL', () => true],
  ['status=ACTIVE', ({ status }) => status === 'ACTIVE'],
  ['status=ALL&sandbox=false', ({ sandbox }) => !sandbox],
  ['status=ACTIVE&sandbox=false', ({ status, sandbox }) => status === 'ACTIVE' && !sandbox],
])('%s: contains every item once in its pages, and on pages in the middle', async (query, matches) => {
  const wanted = advertisers.filter(matches).toSorted(newestFirst);
  const page = async (skip: number, take: number): Promise<readonly number[]> => {
    const { body } = await account.api.get<AdvertiserResource[]>(
      `/advertisers?${query}&skip=${skip}&take=${take}`,
    );
    expect(body.meta.pagination).toMatchObject({ skip, take, total: wanted.length });
    return body.data.map(({ id }) => id);
  };
  const walked: number[] = [];
  for (let skip = 0; skip < wanted.length; skip += 130) walked.push(...(await page(skip, 130)));
  expect(walked).toEqual(wanted.map(({ id }) => id));
  for (let skip = 990; skip < 1_700; skip += 13) {
    expect(await page(skip, 7)).toEqual(wanted.slice(skip, skip + 7).map(({ id }) => id));
  }
});
