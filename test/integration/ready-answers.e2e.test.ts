import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { changeSeller } from '../../command/sellers/commands.ts';
import type { Installation } from '../../app/installation.ts';
import type { CreativeDetail } from '../../domain/creatives/creative-detail.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createAccount, startService, type ServiceProcess } from '../bench/service-process.ts';
import { amount } from '../support/amount.ts';
import { apiOf, untilDefinite, type Api } from '../support/api-client.ts';
import { png } from '../support/sample-media.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { upload } from '../support/uploads.ts';

/**
 * Several accounts write and read at random on two processes with one database. No read may be older than a write that
 * was acknowledged before the read began, regardless of the caches of the processes.
 */

const ACCOUNTS = 2;
const ADVERTISERS = 3;
const READERS = 4;
const READS_MIN = amount(250, 4_000);

let database: TestDatabase;
let environment: { DATABASE_URL: string; DATA_DIR: string; NODE_ENV: string; SECRET_KEYS: string };
let services: readonly ServiceProcess[];
let operator: Installation;
beforeAll(async () => {
  database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-test-'));
  const secretKeys = `test:${'A'.repeat(43)}`;
  environment = { DATABASE_URL: database.url, DATA_DIR: dataDir, NODE_ENV: 'test', SECRET_KEYS: secretKeys };
  services = await Promise.all([startService(environment), startService(environment)]);
  operator = await openWithLongTimeouts(readConfig(environment), 'exchange-operator');
});
afterAll(async () => {
  await operator.close();
  await Promise.all(services.map((service) => service.kill()));
  await database.drop();
  await rm(environment.DATA_DIR, { recursive: true, force: true });
});

/** The number of acknowledged changes of each created advertiser. */
type AcknowledgedChanges = Map<number, number>;
interface Advertiser {
  readonly id: number;
  readonly status: string;
  readonly description?: string;
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

const call = async <T>(
  apiKey: string,
  method: string,
  path: string,
  body?: unknown,
  key: string = randomUUID(),
): Promise<T> => {
  const answer = await fetch(`http://127.0.0.1:${pick(services).port}/api/v2/buyer/advertisers${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${apiKey}`,
      'Content-Type': 'application/json',
      ...(method !== 'GET' && { 'Idempotency-Key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // A 503 is not a stale answer: on a busy machine a projector may need longer than a read waits.
  if (answer.status === 503) return call(apiKey, method, path, body, key);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
};

const countOf = ({ description = '0' }: Advertiser): number => Number(description);

interface State {
  reads: number;
  readonly stale: string[];
  /** Whether each process has answered from memory, so that the test is meaningful. */
  isTried: boolean;
}

/** The limit if frequent writes keep all answers out of memory. */
const READS_MAX = 40 * READS_MIN;
const isGoingOn = ({ reads, isTried }: State): boolean =>
  reads < READS_MIN || (!isTried && reads < READS_MAX);

const account = async (state: State): Promise<void> => {
  const { apiKey } = await createAccount(environment);
  const done: AcknowledgedChanges = new Map();
  const isRunning = (): boolean => isGoingOn(state);
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, Math.random() * 80));

  const writer = async (): Promise<void> => {
    const name = `Advertiser ${Math.random()}`;
    const created = await call<{ data: Advertiser }>(apiKey, 'POST', '', { name });
    const { id } = created.data;
    for (let count = 0; isRunning(); count += 1) {
      done.set(id, count);
      await pause();
      if (Math.random() < 0.05) {
        await call(apiKey, 'DELETE', `/${id}`);
        await call(apiKey, 'POST', `/${id}/restore`);
      }
      await call(apiKey, 'PUT', `/${id}`, { description: String(count + 1) });
    }
  };
  const check = (
    what: string,
    before: AcknowledgedChanges,
    found: readonly Advertiser[],
    ids: Iterable<number>,
  ): void => {
    state.reads += 1;
    for (const id of ids) {
      const one = found.find((advertiser) => advertiser.id === id);
      const expected = before.get(id) ?? 0;
      if (one === undefined || countOf(one) < expected) {
        state.stale.push(`${what}: ${id} at ${one && countOf(one)}, was ${expected}`);
      }
    }
  };
  const reader = async (): Promise<void> => {
    while (isRunning()) {
      const before: AcknowledgedChanges = new Map(done);
      const id = pick([...before.keys()]);
      if (id === undefined) await pause();
      else if (Math.random() < 0.5) {
        check('detail', before, [(await call<{ data: Advertiser }>(apiKey, 'GET', `/${id}`)).data], [id]);
      } else {
        const query = pick(['?status=ALL', '?status=ALL&take=100', '?name=advertiser&status=ALL']);
        check('list', before, (await call<{ data: Advertiser[] }>(apiKey, 'GET', query)).data, before.keys());
      }
    }
  };
  await Promise.all([
    ...Array.from({ length: ADVERTISERS }, writer),
    ...Array.from({ length: READERS }, reader),
  ]);
};

const readyAnswers = async (service: ServiceProcess): Promise<number> => {
  const text = await service.metrics();
  return Number(/exchange_read_answers_total\{from="memory"\} (\d+)/.exec(text)?.[1]);
};

it(`given writes on both processes, then no read is stale: ${READS_MIN} reads`, async () => {
  const state: State = { reads: 0, stale: [], isTried: false };
  const watch = async (): Promise<void> => {
    while (isGoingOn(state)) {
      state.isTried = (await Promise.all(services.map(readyAnswers))).every((count) => count > 0);
      await sleep(100);
    }
  };
  await Promise.all([watch(), ...Array.from({ length: ACCOUNTS }, () => account(state))]);
  expect(state.stale).toEqual([]);
  expect(state.reads).toBeGreaterThanOrEqual(READS_MIN);
  expect(state.isTried).toBe(true);
}, 180_000);

/** The parts of a creative's detail, each as a number that only grows. */
const parts = ['creative', 'campaign', 'review', 'seller'] as const;
type Parts = Record<(typeof parts)[number], number>;

const numberIn = (name = ''): number => Number(/\d+$/.exec(name)?.[0] ?? 0);

const partsOf = ({ name, campaigns, sellerStatuses }: CreativeDetail): Parts => ({
  creative: numberIn(name),
  campaign: numberIn(campaigns[0]?.name),
  review: Date.parse(sellerStatuses[0]?.syncedAt ?? ''),
  seller: numberIn(sellerStatuses[0]?.seller.name),
});

/** How often the directory of sellers, which all accounts share, was changed. */
let renamed = 0;

const renameSeller = async (): Promise<void> => {
  const changes = { name: `Seller ${renamed + 1}` };
  await changeSeller({ store: operator.store, clock: systemClock }, 1, changes);
  renamed += 1;
};

interface CreatedCreative {
  /** One for each process. */
  readonly apis: readonly Api[];
  /** The API of a random process. */
  readonly api: () => Api;
  readonly campaignId: string;
  readonly creativeId: string;
  readonly advertiserId: number;
  readonly assetId: string;
}

const dataOf = async <Data>(send: () => ReturnType<Api['get']>): Promise<Data> => {
  const answer = await untilDefinite(send);
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body.data as Data;
};

const makeCreative = async (): Promise<CreatedCreative> => {
  const { apiKey } = await createAccount(environment);
  const apis = services.map(({ port }) =>
    apiOf(`http://127.0.0.1:${port}`, { Authorization: `Bearer ${apiKey}` }),
  );
  const api = () => pick(apis);
  const advertiser = { name: 'Acme', sandbox: true };
  const { id: advertiserId } = await dataOf<{ id: number }>(() => api().post('/advertisers', advertiser));
  const campaign = { advertiserId, name: 'Campaign 0' };
  const { id: campaignId } = await dataOf<{ id: string }>(() => api().post('/campaigns', campaign));
  const file = { name: 'Hero', mimeType: 'image/png' };
  // Each process returns its own upload address.
  const { assetId } = await upload(apis[0] as Api, advertiserId, file, png(300, 250));
  const creative = {
    name: 'Creative 0',
    formatKind: 'display_tag',
    copy: { tag: '<b></b>' },
    slots: [{ slotId: 'main', kind: 'asset', assetId }],
  };
  const { id: creativeId } = await dataOf<{ id: string }>(() =>
    api().post(`/campaigns/${campaignId}/creatives/create`, creative),
  );
  await dataOf(() => api().post(`/creatives/${creativeId}/submit`, { sellerIds: [1] }));
  return { apis, api, campaignId, creativeId, advertiserId, assetId };
};

const DETAILS = amount(100, 2_000);
const detailOf = ({ api, creativeId }: CreatedCreative): Promise<CreativeDetail> =>
  dataOf<CreativeDetail>(() => api().get(`/creatives/${creativeId}/detail`));

it(`given changes of each part, then no detail of a creative is stale: ${2 * DETAILS} reads`, async () => {
  await renameSeller();
  const all = await Promise.all([makeCreative(), makeCreative()]);
  const stale: unknown[] = [];
  let details = 0;
  const isRunning = (): boolean => details < all.length * DETAILS;
  const repeatedly = async (change: (count: number) => Promise<unknown>): Promise<void> => {
    for (let count = 1; isRunning(); count += 1) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 80));
      await change(count);
    }
  };

  const useCreative = async (made: CreatedCreative): Promise<void> => {
    const { api, campaignId, creativeId } = made;
    const done = partsOf(await detailOf(made));
    const read = async (): Promise<void> => {
      while (isRunning()) {
        const before = { ...done, seller: renamed };
        const found = partsOf(await detailOf(made));
        details += 1;
        if (!parts.every((part) => found[part] >= before[part])) stale.push({ before, found });
      }
    };
    const campaign = `/campaigns/${campaignId}`;
    await Promise.all([
      read(),
      read(),
      repeatedly(async (count) => {
        await dataOf(() => api().put(`${campaign}/creatives/${creativeId}`, { name: `Creative ${count}` }));
        done.creative = count;
      }),
      repeatedly(async (count) => {
        await dataOf(() => api().put(campaign, { name: `Campaign ${count}` }));
        done.campaign = count;
      }),
      repeatedly(async (count) => {
        const review =
          count % 2 === 0 ? { status: 'approved' } : { status: 'rejected', rejectionReason: 'No' };
        const answer = await dataOf<{ syncedAt: string }>(() =>
          api().put(`/creatives/${creativeId}/sellers/1/review`, review),
        );
        done.review = Date.parse(answer.syncedAt);
      }),
    ]);
  };
  await Promise.all([...all.map(useCreative), repeatedly(renameSeller)]);
  expect(stale).toEqual([]);

  for (const made of all) await checkCachedDetail(made);
}, 180_000);

/** Without concurrent writes both processes cache the detail, and a read still returns each later write. */
const checkCachedDetail = async (made: CreatedCreative): Promise<void> => {
  const { apis, api, campaignId, advertiserId, creativeId, assetId } = made;
  const everywhere = async (): Promise<readonly CreativeDetail[]> => {
    const found: CreativeDetail[] = [];
    for (const [n, service] of services.entries()) {
      const before = await readyAnswers(service);
      // A new connection to the database clears the cache once.
      for (let reads = 0; reads < 50 && (await readyAnswers(service)) === before; reads += 1) {
        found.push(await detailOf({ ...made, api: () => apis[n] as Api }));
      }
      expect(await readyAnswers(service)).toBeGreaterThan(before);
    }
    return found;
  };
  const shown = (details: readonly CreativeDetail[]): unknown => [
    ...new Set(details.map(({ campaigns: [campaign], assets }) => `${campaign?.phase} ${assets.length}`)),
  ];
  expect(shown(await everywhere())).toEqual(['draft 1']);
  await dataOf(() => api().post(`/campaigns/${campaignId}/execute`));
  expect(shown(await everywhere())).toEqual(['active 1']);
  await dataOf(() => api().delete(`/advertisers/${advertiserId}/creatives/${creativeId}`));
  expect(shown(await everywhere())).toEqual(['active 1']);
  await dataOf(() => api().delete(`/advertisers/${advertiserId}/assets/${assetId}`));
  expect(shown(await everywhere())).toEqual(['active 0']);
};
