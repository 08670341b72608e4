import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadSession, runOnSession } from '../../command/creative-sessions/handler.ts';
import { type CreativeSession, shownSessionId } from '../../domain/creative-sessions/resource.ts';
import { campaignsProjection } from '../../projections/campaigns.ts';
import { creativeSessionsProjection } from '../../projections/creative-sessions.ts';
import { listSessions, listSessionsQuery } from '../../query/creative-sessions/list.ts';
import { createListCursors, type ListPlace } from '../../query/resources/list-cursor.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { categoryOf, START, type Position } from '../../shared/event-store/event-store.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { CUSTOMER, openCampaignLog, type CampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

/** Walks through the list of a campaign's sessions, page by page, while they change (docs/guides/creative-sessions.md). */

const readModels = useReadModelDatabase();
const { tenant } = readModels;
const reads = { database: tenant, progress: createProjectionProgress() };
const cursors = createListCursors(async () => parseKeyRing(`test:${'A'.repeat(43)}`));

interface Step {
  readonly what: 'start' | 'change' | 'page';
  readonly session: number;
  /** The clock of the node, which may go backwards or stand still. */
  readonly atMs: number;
  readonly limit: number;
}
const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom('start', 'change', 'page', 'page'),
    session: fc.nat({ max: 30 }),
    atMs: fc.nat({ max: 12 }),
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 4, maxLength: 16 },
);

const NOON = Date.parse('2026-01-01T12:00:00Z');
const made = (n: number) => ({ variantId: randomUUID(), copy: { headline: `Text ${n}` } });

const start = async (log: CampaignLog, campaignId: string, { atMs }: Pick<Step, 'atMs'>): Promise<string> => {
  const request = commandRequest(CUSTOMER);
  const sessionId = derivedId(request.commandId, 'creative-session');
  const session = {
    sessionId,
    customerId: CUSTOMER,
    campaignId,
    title: 'Spring',
    formatKind: 'custom' as const,
    variants: [made(0)],
  };
  const now = isoTimestamp(NOON + atMs);
  await runOnSession(log.writes(), sessionId, { type: 'StartSession', now, session }, request);
  return sessionId;
};

const change = async (log: CampaignLog, sessionId: string, { atMs }: Step): Promise<void> => {
  const known = (await loadSession(log.writes(), CUSTOMER, sessionId)) as CreativeSession;
  const command = {
    type: 'RefineVariant',
    now: isoTimestamp(NOON + atMs),
    variantId: known.variants[0]?.variantId ?? '',
    feedback: 'Louder',
    refined: made(known.revision),
  } as const;
  await runOnSession(log.writes(), sessionId, command, commandRequest(CUSTOMER));
};

/** Brings the read models to the head of the log. */
const follow = async (log: CampaignLog, from: Position): Promise<Position> => {
  const events = await log.store.readAll({ after: from, limit: 1_000 });
  for (const projection of [campaignsProjection, creativeSessionsProjection]) {
    const own = events.filter(({ stream }) => projection.categories.includes(categoryOf(stream)));
    if (own.length > 0) await inTransaction(readModels.pool, (client) => projection.apply(client, own));
  }
  return events.at(-1)?.position ?? from;
};

interface Item {
  readonly id: string;
  readonly updatedAt: string;
  readonly revision: number;
}
const inOrder = (items: readonly Item[]): readonly Item[] =>
  items.toSorted((a, b) =>
    a.updatedAt === b.updatedAt ? (a.id < b.id ? -1 : 1) : a.updatedAt > b.updatedAt ? -1 : 1,
  );

it('reading all pages shows unchanged sessions exactly once, changed ones at most once, all in order', async () => {
  const seen = { unchanged: 0, changed: 0, ties: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 12 }), { maxLength: 9 }), steps, async (first, asked) => {
      await readModels.pool.query('truncate campaigns, campaign_counts, creative_sessions');
      const log = await openCampaignLog();
      const { campaignId } = await log.newCampaign('One');
      const other = (await log.newCampaign('Two')).campaignId;
      await start(log, other, { atMs: 5 });
      const ids: string[] = [];
      for (const atMs of first) ids.push(await start(log, campaignId, { atMs }));
      let position = await follow(log, START);
      const everything = async (): Promise<readonly Item[]> => {
        const found = await Promise.all(ids.map((id) => loadSession(log.writes(), CUSTOMER, id)));
        return inOrder(
          found
            .filter((one) => one !== undefined)
            .map(({ sessionId, updatedAt, revision }) => ({
              id: shownSessionId(sessionId),
              updatedAt,
              revision,
            })),
        );
      };
      const atStart = await everything();

      const shown: Item[] = [];
      let after: ListPlace | undefined;
      let isOver = false;
      const page = async (limit: number): Promise<void> => {
        const found = await listSessions(reads, CUSTOMER, campaignId, after, limit);
        shown.push(...(found?.sessions ?? []));
        expect(found?.sessions.length).toBeLessThanOrEqual(limit);
        isOver = found?.next === undefined;
        if (found?.next === undefined) return;
        const cursor = await cursors.of(CUSTOMER, campaignId, found.next);
        after = await cursors.read(CUSTOMER, campaignId, cursor);
      };
      for (const step of asked) {
        if (step.what === 'start') ids.push(await start(log, campaignId, step));
        const target = ids[step.session % Math.max(1, ids.length)];
        if (step.what === 'change' && target !== undefined) await change(log, target, step);
        position = await follow(log, position);
        if (step.what === 'page' && !isOver) await page(step.limit);
      }
      while (!isOver) await page(2);

      const now = new Map((await everything()).map((one) => [one.id, one.revision]));
      const unchanged = atStart.filter(({ id, revision }) => now.get(id) === revision);
      expect(shown.filter(({ id }) => unchanged.some((one) => one.id === id)).map(({ id }) => id)).toEqual(
        unchanged.map(({ id }) => id),
      );
      expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
      expect(shown).toEqual(inOrder(shown));

      // After a rebuild: all sessions in their current state.
      [after, isOver] = [undefined, false];
      shown.length = 0;
      while (!isOver) await page(3);
      expect(shown.map(({ id }) => id)).toEqual((await everything()).map(({ id }) => id));

      seen.unchanged += unchanged.length;
      seen.changed += atStart.length - unchanged.length;
      seen.ties += shown.length - new Set(shown.map(({ updatedAt }) => updatedAt)).size;
    }),
    { numRuns: Number(process.env['PAGE_RUNS'] ?? 40) },
  );
  console.log(`walks met ${JSON.stringify(seen)}`);
  expect(Math.min(seen.unchanged, seen.changed, seen.ties)).toBeGreaterThan(10);
}, 600_000);

it('a cursor is valid for its list only', async () => {
  const place = { at: isoTimestamp(NOON), id: randomUUID() };
  const cursor = await cursors.of(1, 'campaign', place);
  expect(await cursors.read(1, 'campaign', cursor)).toEqual(place);
  const refused = { body: { code: 'VALIDATION_ERROR', field: 'cursor' } };
  await expect(cursors.read(2, 'campaign', cursor)).rejects.toMatchObject(refused);
  await expect(cursors.read(1, 'other', cursor)).rejects.toMatchObject(refused);
  const forged = `${Buffer.from('2026|x').toString('base64url')}.${cursor.split('.')[1]}`;
  for (const wrong of [forged, cursor.slice(0, -1), '.', 'x'.repeat(1_000)]) {
    await expect(cursors.read(1, 'campaign', wrong)).rejects.toMatchObject(refused);
  }
});

it('a page is found in the index, for any start', async () => {
  await readModels.pool.query('truncate creative_sessions');
  await readModels.pool.query(
    `insert into creative_sessions
     select 1 + n % 2, gen_random_uuid(), 0, case when n % 4 < 2 then $1::uuid else gen_random_uuid() end,
       timestamptz '2026-01-01' + (n / 8) * interval '1 ms', '{}', '{}'
     from generate_series(1, 20000) n`,
    [randomUUID()],
  );
  await readModels.pool.query('analyze creative_sessions');
  const { rows } = await readModels.pool.query<{ campaign_id: string }>(
    'select campaign_id from creative_sessions where customer_id = 1 group by 1 order by count(*) desc limit 1',
  );
  const campaignId = rows[0]?.campaign_id ?? '';
  for (const after of [undefined, { at: '2026-01-01T00:00:01.000Z', id: randomUUID() }]) {
    const { text, values } = listSessionsQuery(1, campaignId, after, 50);
    const plan = await readModels.pool.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, timing off) ${text}`,
      [...values],
    );
    const lines = plan.rows.map((row) => row['QUERY PLAN']);
    const at = lines.findIndex((line) => line.includes('creative_sessions_by_change'));
    expect([at >= 0, lines[at]]).toEqual([true, expect.stringMatching(/rows=51(\.00)? loops=1/)]);
    const removed = lines.flatMap((line) => /Rows Removed by Filter: (\d+)/.exec(line)?.[1] ?? []);
    expect(removed.every((count) => Number(count) < 10)).toBe(true);
  }
});
