import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { addSeller } from '../../command/sellers/commands.ts';
import type { CauseNode } from '../../domain/history/cause-resource.ts';
import { auditProjection } from '../../projections/audit.ts';
import { rebuildOnline } from '../../projections/engine/copy/online-rebuild.ts';
import { sellerDirectoryStream } from '../../domain/sellers/seller-directory.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { createLog } from '../../app/log.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';
import { until } from '../support/until.ts';

/** The requests listed as causes of a submission that happens while a worker processes an earlier one. */

/** While it exists, workers wait after taking work, before they read its data. */
let gate: Promise<void> | undefined;
let waiting = 0;
let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), {
    store: (store) => ({
      ...store,
      readStream: async function* (stream, options) {
        if (stream === sellerDirectoryStream && gate !== undefined) {
          waiting += 1;
          await gate;
        }
        yield* store.readStream(stream, options);
      },
    }),
  });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const create = async (path: string, body: object, requestId = 'made'): Promise<string> => {
  const answer = await account.api.post<{ id: number | string }>(path, body, { 'X-Request-Id': requestId });
  expect(answer.status).toBeLessThan(300);
  return String(answer.body.data.id);
};

const causedBy = async (requestId: string): Promise<readonly CauseNode[]> =>
  (await account.api.get<{ causes: CauseNode[] }>(`/requests/${requestId}`)).body.data.causes;

/** The jobs that a request caused. */
const jobsOf = async (requestId: string): Promise<readonly string[]> =>
  (await causedBy(requestId)).flatMap((node) =>
    node.kind === 'command' ? node.followedBy.map(({ kind, id }) => `${kind} ${id}`) : [],
  );

it('a settled request gets no later submission', async () => {
  const advertiserId = Number(await create('/advertisers', { name: 'Acme', sandbox: true }));
  const one = await create('/campaigns', { advertiserId, name: 'One' });
  const two = await create('/campaigns', { advertiserId, name: 'Two' });
  const tag = { formatKind: 'display_tag', copy: { tag: '<b></b>' } };
  const creative = await create(`/campaigns/${one}/creatives/create`, tag);
  const isListed = async () =>
    (await service.pool.query(`select from work_list where kind <> 'syndication'`)).rowCount !== 0;
  const isSeen = async () => {
    const head = await service.store.head();
    const { rows } = await service.pool.query<{ position: string }>(
      `select min(position collate "C") as position from projection_checkpoints
       where name in ('sellers', 'creatives', 'campaigns')`,
    );
    return (rows[0]?.position ?? '') >= head;
  };
  await until(async () => (await isSeen()) && !(await isListed()), 20_000);

  let open = (): void => undefined;
  gate = new Promise((resolve) => (open = resolve));
  await create(`/campaigns/${one}/execute`, {}, 'the-launch');
  await until(async () => waiting > 0, 20_000);
  // A worker holds the work for the launch. This change is newer, and belongs to the next job.
  await create(
    `/advertisers/${advertiserId}/creatives/${creative}/campaigns`,
    { campaignId: two },
    'attached',
  );
  await until(isSeen, 20_000);
  // A seller is added after that, and before the list is read again.
  const { rowCount } = await service.pool.query(
    `update work_list set due_at = 'infinity' where kind = 'changed-creative'`,
  );
  expect(rowCount).toBe(1);
  gate = undefined;
  open();
  await until(async () => (await jobsOf('the-launch')).length === 1, 20_000);
  const [first = ''] = await jobsOf('the-launch');
  expect(await jobsOf('attached')).toEqual([first]);
  await until(
    async () => (await service.pool.query(`select from work_list where kind = 'submission'`)).rowCount === 0,
    20_000,
  );
  await addSeller({ store: service.store, clock: systemClock }, { name: 'Late', channels: [] });
  await service.pool.query(`update work_list set due_at = now() where kind = 'changed-creative'`);
  await until(async () => (await jobsOf('attached')).length === 2, 20_000);
  expect(await jobsOf('the-launch')).toEqual([first]);

  const trees = () => Promise.all(['the-launch', 'attached'].map(causedBy));
  const before = await trees();
  const { differences } = await rebuildOnline(rebuildOptions(service), auditProjection);
  expect(differences).toBe(0);
  expect(await trees()).toEqual(before);
}, 120_000);
