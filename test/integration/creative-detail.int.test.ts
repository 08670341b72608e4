import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runOnCampaign, loadCampaign } from '../../command/campaigns/handler.ts';
import {
  archiveCreative,
  attachCreative,
  detachCreative,
  updateCreative,
} from '../../command/creatives/commands.ts';
import { createInCampaign, duplicateCreative } from '../../command/creatives/create-creative.ts';
import { reviewForSeller, submitCreative } from '../../command/creatives/review-creative.ts';
import { loadCreative } from '../../command/creatives/handler.ts';
import { loadDirectory, runOnDirectory } from '../../command/sellers/handler.ts';
import { launchedCreatives } from '../../app/lookups/launched-creatives.ts';
import { listLaunchedCreatives } from '../../command/workers/sellers/list-launched.ts';
import { submissions as submissionsOf } from '../../command/workers/sellers/submit-launched.ts';
import { shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import { creativeDetail, type UsedAsset } from '../../domain/creatives/creative-detail.ts';
import { assetIdsOf, shownCreativeId, type Creative } from '../../domain/creatives/resource.ts';
import { builtInSellers } from '../../domain/sellers/resource.ts';
import { creativeStream } from '../../domain/creatives/creative.ts';
import { campaignsProjection } from '../../projections/campaigns.ts';
import { byStream } from '../../projections/engine/fold-streams.ts';
import { creativeSubmissionsProjection } from '../../projections/creative-submissions.ts';
import { creativesProjection } from '../../projections/creatives.ts';
import { sellersProjection } from '../../projections/sellers.ts';
import { getDetail } from '../../query/creatives/get-detail.ts';
import { isAssetInUse } from '../../app/lookups/find-in-use.ts';
import { listCampaignCreatives, listLibraryCreatives } from '../../query/creatives/list.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import {
  categoryOf,
  START,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { createWorkList, type WorkList } from '../../shared/work-list/work-list.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { ADVERTISER, CUSTOMER, openCampaignLog, type CampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { createFailingAppends } from '../support/failing-appends.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { workOnce } from '../support/work-once.ts';

/**
 * The detail of a creative and the lists, derived from several streams: for any order of events across the streams, in
 * batches of any size, some delivered twice.
 */

const readModels = useReadModelDatabase();
const { tenant } = readModels;

const assetOf = (n: number): UsedAsset => ({
  id: `ast_${String(n).padStart(32, '0')}`,
  name: `Asset ${n}`,
  mediaKind: n % 2 === 0 ? 'image' : 'video',
  mimeType: n % 2 === 0 ? 'image/png' : 'video/mp4',
  url: `https://assets.example.com/${n}`,
  bytes: 1_000 * (n + 1),
  ...(n === 0 ? {} : { width: 300, height: 250 }),
});
const assets = [0, 1, 2].map(assetOf);

interface Step {
  readonly what:
    | 'create'
    | 'update'
    | 'copy'
    | 'attach'
    | 'detach'
    | 'archive'
    | 'launch'
    | 'pause'
    | 'rename'
    | 'submit'
    | 'review'
    | 'seller';
  readonly creative: number;
  readonly campaign: number;
  readonly asset: number;
}
const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom(
      'create',
      'create',
      'update',
      'copy',
      'attach',
      'detach',
      'archive',
      'launch',
      'pause',
      'rename',
      'submit',
      'review',
      'seller',
    ),
    creative: fc.nat({ max: 3 }),
    campaign: fc.nat({ max: 1 }),
    asset: fc.nat({ max: 2 }),
  }),
  { minLength: 3, maxLength: 14 },
);

/** Most short runs submit or create nothing, so these steps run first. */
const begun: readonly Step[] = (['create', 'submit'] as const).map((what) => ({
  what,
  creative: 0,
  campaign: 0,
  asset: 1,
}));
const stepsBegun = fc.oneof(
  { weight: 1, arbitrary: steps },
  { weight: 3, arbitrary: steps.map((some) => [...begun, ...some]) },
);

const forgetAll = async (): Promise<void> => {
  const tables = projections.flatMap((projection) => projection.tables);
  await readModels.pool.query(`truncate work_list, ${tables.join(', ')}, projection_checkpoints`);
};

const carryOut = async (
  log: CampaignLog,
  { what, ...at }: Step,
  ids: Set<string>,
  campaigns: readonly Campaign[],
): Promise<void> => {
  const writes = log.writes();
  const campaign = campaigns[at.campaign] as Campaign;
  const slots = [{ slotId: 'main', kind: 'asset' as const, assetId: assetOf(at.asset).id }];
  const carouselCards = at.asset === 2 ? [{ assetId: assetOf(1).id, headline: 'Card' }] : [];
  const request = commandRequest(CUSTOMER);
  const content = { slots, carouselCards, copy: { headline: `Text ${at.asset}` } };
  const now = isoTimestamp(log.nowMs);
  if (what === 'seller') {
    const name = `Seller ${at.asset}`;
    await runOnDirectory(log.store, {
      type: 'ChangeSeller',
      now,
      sellerId: 1 + at.campaign,
      changes: { name },
    });
    await runOnDirectory(log.store, {
      type: 'AddSeller',
      now,
      seller: { name: `New ${name}`, channels: [] },
    });
    return;
  }
  if (what === 'launch' || what === 'pause' || what === 'rename') {
    const below = { now, advertiserIsArchived: false };
    const current = await loadCampaign(writes, CUSTOMER, campaign.campaignId);
    const launch = current?.phase === 'paused' ? 'ReactivateCampaign' : 'LaunchCampaign';
    await runOnCampaign(
      writes,
      campaign.campaignId,
      what !== 'rename'
        ? { type: what === 'launch' ? launch : 'PauseCampaign', ...below }
        : { type: 'UpdateCampaign', ...below, changes: { name: `Name ${at.asset}` }, unchangeable: {} },
      request,
    );
    return;
  }
  if (what === 'create') {
    const shown = shownCampaignId(campaign.campaignId);
    const body = { formatKind: 'image' as const, ...content };
    ids.add((await createInCampaign(writes, shown, body, request)).creativeId);
    return;
  }
  const target = await loadCreative(writes, CUSTOMER, [...ids][at.creative % Math.max(1, ids.size)] ?? '');
  if (target === undefined) return;
  const { campaignId } = campaign;
  if (what === 'update') await updateCreative(writes, target, { ...content, role: 'evergreen' }, request);
  if (what === 'attach') await attachCreative(writes, target, campaign, request);
  if (what === 'detach') await detachCreative(writes, target, { campaignId, archivesLast: true }, request);
  if (what === 'archive') await archiveCreative(writes, target, request);
  const shown = shownCreativeId(target.creativeId);
  const { sellerId = 1 } = (await loadDirectory(log)).at(at.asset - 1) ?? {};
  if (what === 'submit') await submitCreative(writes, shown, [sellerId], request);
  if (what === 'review') {
    const status = at.campaign === 0 ? 'approved' : 'rejected';
    const reason = at.campaign === 0 ? {} : { rejectionReason: 'Too loud' };
    const context = { commandId: request.commandId, customerId: CUSTOMER, actor: 'test', requestId: 'r' };
    await reviewForSeller(writes, shown, sellerId, { status, ...reason }, context);
  }
  if (what === 'copy' && target.campaignIds.includes(campaignId)) {
    ids.add((await duplicateCreative(writes, target, campaign, request)).creativeId);
  }
};

/** The events of several streams in a random order that keeps the order of each stream. */
const interleaved = (events: readonly RecordedEvent[], choices: Iterator<number>): RecordedEvent[] => {
  const streams = [...byStream(events).values()];
  const order: RecordedEvent[] = [];
  while (streams.length > 0) {
    const chosen = ((choices.next().value as number | undefined) ?? 0) % streams.length;
    const next = streams[chosen]?.shift();
    if (next === undefined) streams.splice(chosen, 1);
    else order.push(next);
  }
  return order;
};

const projections = [
  campaignsProjection,
  creativesProjection,
  sellersProjection,
  creativeSubmissionsProjection,
];

const SELLERS = projections.indexOf(sellersProjection);

const applyInBatches = async (events: readonly RecordedEvent[], choices: Iterator<number>): Promise<void> => {
  for (let from = 0; from < events.length;) {
    const size = 1 + (((choices.next().value as number | undefined) ?? 0) % 5);
    // Delivers a part of the previous batch again.
    const batch = events.slice(Math.max(0, from - (size % 3)), from + size);
    for (const projection of projections) {
      const own = batch.filter(({ stream }) => projection.categories.includes(categoryOf(stream)));
      if (own.length > 0) await inTransaction(readModels.pool, (client) => projection.apply(client, own));
    }
    from += size;
  }
};

const emptyLog = createMemoryEventStore();
const through = { database: tenant, progress: createProjectionProgress() };
const reads = () => ({
  ...through,
  store: emptyLog,
  assets: {
    readModel: 'assets',
    sql: (_customer: string, shownIds: string) =>
      `(select coalesce(json_agg(a), '[]') from json_array_elements('${JSON.stringify(assets)}') a
        where a ->> 'id' = any(${shownIds}))::text`,
    read: (found: string) => JSON.parse(found) as readonly UsedAsset[],
    find: async () => [],
  },
});

describe('details and lists', () => {
  it('are equal for any order of events', async () => {
    let [details, reviews] = [0, 0];
    await fc.assert(
      fc.asyncProperty(stepsBegun, fc.infiniteStream(fc.nat({ max: 100 })), async (asked, choices) => {
        await forgetAll();
        const log = await openCampaignLog(assets.map(({ id }) => id));
        const campaigns = [await log.newCampaign('One'), await log.newCampaign('Two')];
        const ids = new Set<string>();
        for (const step of asked) {
          await carryOut(log, step, ids, campaigns).catch((error: unknown) => {
            if (!(error instanceof ApiError)) throw error;
          });
        }
        const events = await log.store.readAll({ after: START, limit: 10_000 });
        await applyInBatches(interleaved(events, choices), choices);

        const current = await Promise.all(
          campaigns.map(({ campaignId }) => loadCampaign(log.writes(), CUSTOMER, campaignId)),
        );
        const known = current.filter((one) => one !== undefined);
        const creatives: Creative[] = [];
        for (const id of ids) {
          const creative = (await loadCreative(log.writes(), CUSTOMER, id)) as Creative;
          creatives.push(creative);
          const sellers = await loadDirectory(log);
          const expected = creativeDetail({ creative, campaigns: known, assets, sellers });
          reviews += expected.sellerStatuses.length;
          expect(await getDetail(reads(), CUSTOMER, id)).toEqual(expected);
          details += 1;
        }
        await checkLists(creatives, campaigns);
        await checkSubmissions(creatives);
      }),
      { numRuns: Number(process.env['DETAIL_RUNS'] ?? 12) },
    );
    expect(details).toBeGreaterThan(0);
    expect(reviews).toBeGreaterThan(0);
  });

  const checkLists = async (
    creatives: readonly Creative[],
    campaigns: readonly Campaign[],
  ): Promise<void> => {
    const live = creatives.filter(({ state }) => state !== 'archived');
    const idsOf = (page: { readonly creatives: readonly Creative[] | undefined; total: number }) => [
      page.creatives?.map(({ creativeId }) => creativeId).sort(),
      page.total,
    ];
    const expected = (wanted: readonly Creative[]) => [
      wanted.map(({ creativeId }) => creativeId).sort(),
      wanted.length,
    ];
    const bounds = { skip: 0, take: 200 };
    for (const { campaignId } of campaigns) {
      const page = await listCampaignCreatives(reads(), CUSTOMER, campaignId, undefined, bounds);
      expect(idsOf(page)).toEqual(
        expected(live.filter(({ campaignIds }) => campaignIds.includes(campaignId))),
      );
    }
    await readModels.pool.query(
      `insert into advertisers values ($1, $2, 0, 'ACTIVE', false, 'Acme', now(), '{}') on conflict do nothing`,
      [CUSTOMER, ADVERTISER],
    );
    for (const promoted of [undefined, true, false]) {
      const page = await listLibraryCreatives(reads(), CUSTOMER, ADVERTISER, { promoted }, bounds);
      expect(idsOf(page)).toEqual(
        expected(live.filter((one) => promoted === undefined || one.promoted === promoted)),
      );
    }
    for (const { id } of assets) {
      const used = live.some((creative) => assetIdsOf(creative).includes(id));
      expect(await isAssetInUse(reads(), CUSTOMER, id)).toBe(used);
    }
  };

  const submissionsIn = async (): Promise<readonly string[]> =>
    (
      await readModels.pool.query<{ text: string }>(
        `select seller_id || ' ' || creative_id || ' ' || customer_id as text from creative_submissions`,
      )
    ).rows
      .map(({ text }) => text)
      .sort();

  /** Every submission is visible to its seller, and nothing else. */
  const checkSubmissions = async (creatives: readonly Creative[]): Promise<void> => {
    const expected = creatives.flatMap(({ creativeId, customerId, reviews = [] }) =>
      reviews.map(({ sellerId }) => `${sellerId} ${creativeId} ${customerId}`),
    );
    expect(await submissionsIn()).toEqual(expected.sort());
  };

  it('wait only for read models that they show, and only briefly for one that lags', async () => {
    await forgetAll();
    const log = await openCampaignLog(assets.map(({ id }) => id));
    const campaign = await log.newCampaign('One');
    const create = async (slots: readonly object[]): Promise<string> => {
      const body = { formatKind: 'image', slots, carouselCards: [], copy: { headline: 'Hi' } } as never;
      const shown = shownCampaignId(campaign.campaignId);
      return (await createInCampaign(log.writes(), shown, body, commandRequest(CUSTOMER))).creativeId;
    };
    const plain = await create([]);
    const withAsset = await create([{ slotId: 'main', kind: 'asset', assetId: assetOf(1).id }]);
    for (const at of [0, 1]) await follow(log, at, 10_000);
    // Only the creatives and campaigns are projected.
    await readModels.pool.query(
      `insert into account_positions (customer_id, position)
       select $1, position from projection_checkpoints where name = 'creatives'`,
      [CUSTOMER],
    );
    const found = await getDetail(reads(), CUSTOMER, plain);
    expect(found?.assets).toEqual([]);

    const waits: unknown[] = [];
    const folding = { ...reads(), store: log.store };
    const find = async (_customerId: number, _ids: readonly string[], waitMs?: number) => {
      waits.push(waitMs);
      return assets;
    };
    const behind = await getDetail({ ...folding, assets: { ...folding.assets, find } }, CUSTOMER, withAsset);
    expect(behind?.assets.length).toBe(1);
    expect(waits).toEqual([300]);
    await readModels.pool.query('delete from account_positions');
  });

  it('a seller sees all submissions, also those that an older program projected', async () => {
    await forgetAll();
    const log = await openCampaignLog(assets.map(({ id }) => id));
    const campaigns = [await log.newCampaign('One')];
    const ids = new Set<string>();
    for (const what of ['create', 'submit', 'create', 'submit'] as const) {
      await carryOut(log, { what, creative: 1, campaign: 0, asset: 1 }, ids, campaigns);
    }
    // The read model of creatives is at the end of the log; that of submissions is still empty.
    await follow(log, projections.indexOf(creativesProjection), 10_000);
    expect(await submissionsIn()).toEqual([]);
    await follow(log, projections.indexOf(creativeSubmissionsProjection), 10_000);
    const creatives = [...ids].map(
      async (id) => (await loadCreative(log.writes(), CUSTOMER, id)) as Creative,
    );
    await checkSubmissions(await Promise.all(creatives));
    expect(await submissionsIn()).toHaveLength(2);
  });

  it('show assets', () => {
    const creative = {
      formatKind: 'image',
      slots: [{ slotId: 'main', kind: 'asset', assetId: assetOf(2).id }],
      copy: { headline: 'Hi' },
      carouselCards: [{ assetId: assetOf(1).id }],
      campaignIds: [],
    } as unknown as Creative;
    const shown = creativeDetail({
      creative: { ...creative, creativeId: '' },
      campaigns: [],
      assets,
      sellers: [],
    });
    expect(shown).toMatchObject({
      specLine: '300x250 - PNG - 3 KB',
      preview: {
        kind: 'image',
        url: 'https://assets.example.com/2',
        width: 300,
        height: 250,
        copy: [{ slot: 'headline', value: 'Hi' }],
      },
      assets: [
        {
          assetId: assetOf(2).id,
          slot: 'main',
          name: 'Asset 2',
          mediaKind: 'image',
          thumbnailUrl: 'https://assets.example.com/2',
          specLine: '300x250 - PNG - 3 KB',
        },
      ],
      carouselCards: [
        { assetId: assetOf(1).id, imageUrl: 'https://assets.example.com/1', imageName: 'Asset 1' },
      ],
    });
  });
});

/** Each read model at its own speed, in log order, as the engine applies events. */
const follow = async (log: CampaignLog, at: number, countMax: number): Promise<number> => {
  const projection = projections[at % projections.length] ?? campaignsProjection;
  const { rows } = await readModels.pool.query<{ position: Position }>(
    'select position from projection_checkpoints where name = $1',
    [projection.name],
  );
  const events = await log.store.readAll({ after: rows[0]?.position ?? START, limit: countMax });
  const last = events.at(-1);
  if (last === undefined) return 0;
  const own = events.filter(({ stream }) => projection.categories.includes(categoryOf(stream)));
  await inTransaction(readModels.pool, async (client) => {
    if (own.length > 0) await projection.apply(client, own);
    await client.query(
      `insert into projection_checkpoints (name, position) values ($1, $2)
       on conflict (name) do update set position = excluded.position`,
      [projection.name, last.position],
    );
  });
  return events.length;
};

/** Seeds of the few runs that submit little or nothing. */
const SHORT_SEED = 3;

describe('creatives of launched campaigns', () => {
  const actions = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: steps.map((some) => ({ kind: 'steps' as const, some: some.slice(0, 4) })) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('follow' as const),
          at: fc.nat({ max: 2 }),
          count: fc.nat({ max: 9 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('work' as const),
          failAt: fc.integer({ min: 1, max: 4 }),
          how: fc.constantFrom('before' as const, 'after' as const),
          isForgotten: fc.boolean(),
        }),
      },
    ),
    { minLength: 6, maxLength: 16 },
  );
  /** Leases have expired too, so no other worker is active. */
  const allDue = () =>
    readModels.pool.query(
      `update work_list set due_at = now(), leased_until = case when leased_until is not null then now() end`,
    );

  interface Fate {
    readonly failAt?: number;
    readonly how?: 'before' | 'after';
    /** The worker is killed before it settles its entries. */
    readonly isForgotten?: boolean;
  }
  const work = (log: CampaignLog, { failAt = Infinity, how = 'before', isForgotten }: Fate = {}) => {
    const list = createWorkList(readModels.pool);
    const failing = createFailingAppends();
    failing.failFrom(failAt, how);
    const settle = isForgotten === true ? async () => undefined : list.settle;
    return workOnce(
      { ...list, settle },
      submissionsOf(log.writes(failing.wrap(log.store)), () =>
        listLaunchedCreatives(readModels.pool, launchedCreatives),
      ),
    );
  };

  const untilDone = async (log: CampaignLog): Promise<void> => {
    for (let isOver = false; !isOver;) {
      let moved = 0;
      for (const at of [0, 1, 2]) moved += await follow(log, at, 10_000);
      await allDue();
      moved += await work(log);
      isOver = moved === 0;
    }
    expect((await readModels.pool.query('select * from work_list')).rows).toEqual([]);
  };

  it('are submitted although the launch is applied before the creatives', async () => {
    await forgetAll();
    const log = await openCampaignLog(assets.map(({ id }) => id));
    const campaigns = [await log.newCampaign('One')];
    const ids = new Set<string>();
    const at = { creative: 0, campaign: 0, asset: 0 };
    await carryOut(log, { what: 'create', ...at }, ids, campaigns);
    const before = (await log.store.readAll({ after: START, limit: 10_000 })).length;
    await carryOut(log, { what: 'launch', ...at }, ids, campaigns);
    await follow(log, SELLERS, 10_000);
    expect(await work(log)).toBe(0);
    for (const behind of [0, 1]) await follow(log, behind, before);
    await work(log);
    await untilDone(log);
    expect(await checkSubmitted(log, ids)).toBe(1);

    // The same for a creative that is applied before the campaign's rows.
    await carryOut(log, { what: 'create', ...at }, ids, campaigns);
    await follow(log, SELLERS, 10_000);
    expect(await work(log)).toBe(0);
    for (const behind of [0, 1]) await follow(log, behind, 10_000);
    // A worker that cannot write does not lose it either.
    await expect(work(log, { failAt: 1 })).rejects.toThrow('cut before');
    await untilDone(log);
    expect(await checkSubmitted(log, ids)).toBe(2);

    // The continued campaign does not submit it again to a seller that rejected it.
    const reject = { status: 'rejected', rejectionReason: 'Too loud' } as const;
    const [id = ''] = ids;
    const context = { commandId: id, customerId: CUSTOMER, actor: 'test', requestId: 'r' };
    await reviewForSeller(log.writes(), shownCreativeId(id), 1, reject, context);
    await carryOut(log, { what: 'pause', ...at }, ids, campaigns);
    await carryOut(log, { what: 'launch', ...at }, ids, campaigns);
    await untilDone(log);
    expect(await checkSubmitted(log, ids)).toBe(2);
  });

  describe('with a newer event during the check', () => {
    const at = { creative: 0, campaign: 0, asset: 0 };
    const listed = async () =>
      (await readModels.pool.query<{ kind: string }>('select kind from work_list')).rows.map(
        ({ kind }) => kind,
      );
    /** One creative in a launched campaign, on the list of pending checks. */
    const given = async () => {
      await forgetAll();
      const log = await openCampaignLog(assets.map(({ id }) => id));
      const campaigns = [await log.newCampaign('One'), await log.newCampaign('Two')];
      const ids = new Set<string>();
      await carryOut(log, { what: 'create', ...at }, ids, campaigns);
      await untilDone(log);
      await carryOut(log, { what: 'launch', ...at }, ids, campaigns);
      for (const each of [0, 1, 2]) await follow(log, each, 10_000);
      const [id = ''] = ids;
      const attach = (): Promise<void> =>
        carryOut(log, { what: 'attach', ...at, campaign: 1 }, ids, campaigns);
      const requestsOf = async (wanted: string): Promise<readonly (string | number)[][]> => {
        const requests: (string | number)[][] = [];
        for await (const { type, data, metadata } of log.store.readStream(creativeStream(CUSTOMER, id))) {
          if (type !== wanted) continue;
          const others = (data['alsoCausedBy'] ?? []) as readonly { readonly correlationId: string }[];
          requests.push([metadata.correlationId, ...others.map(({ correlationId }) => correlationId)]);
        }
        return requests;
      };
      const launchAgain = async (): Promise<void> => {
        for (const what of ['pause', 'launch'] as const) await carryOut(log, { what, ...at }, ids, campaigns);
      };
      return { log, attach, launchAgain, requestsOf };
    };
    /** @param meanwhile runs between the check and the removal from the list */
    const check = (log: CampaignLog, meanwhile: (done: () => Promise<void>) => Promise<void>) => {
      const list = createWorkList(readModels.pool);
      const settle: WorkList['settle'] = (...end) => meanwhile(() => list.settle(...end));
      return workOnce(
        { ...list, settle },
        submissionsOf(log.writes(), () => listLaunchedCreatives(readModels.pool, launchedCreatives)),
      );
    };
    const archive = (log: CampaignLog) =>
      log.onAdvertiser({ type: 'ArchiveAdvertiser', now: isoTimestamp(log.nowMs) });
    const restore = (log: CampaignLog) =>
      log.onAdvertiser({ type: 'RestoreAdvertiser', now: isoTimestamp(log.nowMs) });

    it('stay on the list for later events only, which do not belong to the processed request', async () => {
      const { log, attach, requestsOf } = await given();
      await archive(log);
      await check(log, async (done) => {
        await restore(log);
        await attach();
        for (const each of [0, 1, 2]) await follow(log, each, 10_000);
        await listLaunchedCreatives(readModels.pool, launchedCreatives);
        expect((await listed()).toSorted()).toEqual(['changed-creative', 'submission']);
        await done();
        expect(await listed()).toEqual(['changed-creative']);
      });
      expect(await requestsOf('CreativeSubmitted')).toEqual([]);
      await untilDone(log);
      expect(await requestsOf('CreativeSubmitted')).toEqual(await requestsOf('CreativeAttached'));
    });

    it('are not named by a later submission if an earlier one names their request', async () => {
      const { log, attach, launchAgain, requestsOf } = await given();
      // The event is appended before the worker reads, and is listed afterwards.
      const list = createWorkList(readModels.pool);
      const offer: WorkList['offer'] = async (...asked) => {
        const offered = await list.offer(...asked);
        await attach();
        return offered;
      };
      await workOnce(
        { ...list, offer },
        submissionsOf(log.writes(), () => listLaunchedCreatives(readModels.pool, launchedCreatives)),
      );
      const [[attached]] = (await requestsOf('CreativeAttached')) as [[string]];
      const [first = []] = await requestsOf('CreativeSubmitted');
      expect([first.length, first[1]]).toEqual([2, attached]);
      // Both are listed then, and one seller has no submission yet.
      await launchAgain();
      await carryOut(log, { what: 'seller', ...at }, new Set(), []);
      await untilDone(log);
      const [, second = []] = await requestsOf('CreativeSubmitted');
      expect(second).toHaveLength(1);
      expect(first).not.toContain(second[0]);
    });
  });

  it('reach every seller once, for any crash of a worker and any lag of the read models', async () => {
    let submissions = 0;
    await fc.assert(
      fc.asyncProperty(actions, async (asked) => {
        await forgetAll();
        const log = await openCampaignLog(assets.map(({ id }) => id));
        const campaigns = [await log.newCampaign('One'), await log.newCampaign('Two')];
        const ids = new Set<string>();
        for (const action of asked) {
          if (action.kind === 'follow') await follow(log, action.at, 1 + action.count);
          else if (action.kind === 'work') {
            await allDue();
            // Two concurrent workers: the second does not see the first.
            const { failAt, how, isForgotten } = action;
            await Promise.allSettled([work(log, { failAt, how, isForgotten }), work(log, { isForgotten })]);
          } else {
            for (const step of action.some) {
              if (step.what === 'seller' || step.what === 'submit') continue;
              await carryOut(log, step, ids, campaigns).catch((error: unknown) => {
                if (!(error instanceof ApiError)) throw error;
              });
            }
          }
        }
        await untilDone(log);
        submissions += await checkSubmitted(log, ids);
      }),
      {
        numRuns: Number(process.env['DETAIL_RUNS'] ?? 12),
        ...(process.env['DETAIL_RUNS'] === undefined ? { seed: SHORT_SEED } : {}),
      },
    );
    expect(submissions).toBeGreaterThan(5);
  });

  /** @returns how many creatives were submitted */
  const checkSubmitted = async (log: CampaignLog, ids: ReadonlySet<string>): Promise<number> => {
    let submissions = 0;
    const everybody = builtInSellers.map(({ sellerId }) => sellerId);
    for (const id of ids) {
      const creative = (await loadCreative(log.writes(), CUSTOMER, id)) as Creative;
      const asked: number[] = [];
      for await (const { type, data, metadata } of log.store.readStream(creativeStream(CUSTOMER, id))) {
        if (type !== 'CreativeSubmitted') continue;
        expect(metadata.actor).toBe('worker:sellers');
        asked.push(...(data['sellerIds'] as number[]));
      }
      const phases = await Promise.all(
        creative.campaignIds.map(
          async (campaignId) => (await loadCampaign(log.writes(), CUSTOMER, campaignId))?.phase,
        ),
      );
      const isDue = creative.state === 'ready' && phases.includes('active');
      expect([everybody, ...(isDue ? [] : [[]])]).toContainEqual(asked);
      submissions += asked.length === 0 ? 0 : 1;
    }
    return submissions;
  };
});
