import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createDeliveryPages } from '../../app/delivery-pages.ts';
import { deliveryChanges } from '../../command/workers/webhooks/change-rows.ts';
import { WEBHOOK } from '../../domain/webhooks/work.ts';
import { derivedId, notificationIdOf } from '../../shared/aggregate/ids.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import { createWorkList } from '../../shared/work-list/work-list.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { accountIn, createWebhookLog, projectLog, type WebhookLog } from '../support/webhook-log.ts';
import { workOnce } from '../support/work-once.ts';

/** With any batches, and however often the log is applied, each event has the same effect, once. */

const readModels = useReadModelDatabase();

const uuid = (n: number): string => `a0000000-0000-4000-8000-00000000000${n}`;
const PATTERNS = [
  ['*'],
  ['advertiser.*'],
  ['campaign.phase_changed'],
  ['webhook_subscription.*', 'event_source.*'],
];
const HEALTH_BEFORE = ['not_seen', 'needs_attention', undefined] as const;
const ADVERTISERS = [undefined, [1], [2, 3]];

const nat = (max: number): fc.Arbitrary<number> => fc.nat({ max });
/** For one account, then the kind of step, and two choices for it. */
const steps = fc.array(fc.tuple(nat(1), nat(15), nat(2), nat(3)), { minLength: 20, maxLength: 40 });
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 });

/** Only what the aggregates allow. */
const logOf = (asked: readonly (readonly [number, number, number, number])[]): WebhookLog => {
  const log = createWebhookLog();
  const live = new Map<string, 'active' | 'paused' | 'disabled' | 'deleted'>();
  const begun = new Set<string>();
  const disabled = new Set<number>();
  const always = [
    [0, 6, 0, 0],
    [1, 6, 2, 1],
  ] as const;
  for (const [which, kind, choice, more] of [...always, ...asked]) {
    const account = accountIn(log, 7 + which);
    const id = uuid(3 * which + choice);
    const status = live.get(id);
    const change = (type: string, after: typeof status, data = {}): void => {
      account.change(id, type, data);
      live.set(id, after ?? 'active');
    };
    if (kind === 0) account.restoreAdvertiser(more);
    else if (kind <= 2) account.archiveAdvertiser(more);
    else if (kind <= 4) {
      if (begun.has(id)) account.pauseCampaign(id);
      else account.createCampaign(id, more);
      begun.add(id);
    } else if (kind === 5) {
      account.access(disabled.has(which) ? 'AccountEnabled' : 'AccountDisabled');
      if (!disabled.delete(which)) disabled.add(which);
    } else if (kind === 15) account.logConversions(id, choice, HEALTH_BEFORE[more]);
    else if (status === undefined) {
      const advertiserIds = ADVERTISERS[choice];
      account.subscribe(id, { eventTypes: PATTERNS[more] ?? [], ...(advertiserIds && { advertiserIds }) });
      live.set(id, 'active');
    } else if (status === 'deleted') continue;
    else if (kind === 6) change('SubscriptionUpdated', status, { changes: { eventTypes: PATTERNS[more] } });
    else if (kind === 7 && more === 0) change('SubscriptionDeleted', 'deleted');
    else if (status !== 'active') change('SubscriptionEnabled', 'active');
    else if (kind === 8) change('SubscriptionPaused', 'paused');
    else if (kind === 9) change('SubscriptionDisabled', 'disabled', { reason: 'gone', message: 'No.' });
    else if (kind === 10) change('TestRequested', status, { kind: 'task.completed' });
    else if (kind === 11) {
      change('RecoveryRequested', status, {
        since: log.events[more % log.events.length]?.metadata.occurredAt ?? '',
      });
    } else {
      const event = log.events[(7 * more) % log.events.length];
      change('RedeliveryRequested', status, {
        deliveryId: derivedId(notificationIdOf(event?.id ?? '', 0), id),
      });
    }
  }
  return log;
};

const query = async (text: string): Promise<readonly unknown[]> => (await readModels.pool.query(text)).rows;

const empty = (): Promise<unknown> =>
  query(
    `delete from projection_checkpoints; delete from webhook_endpoints; delete from webhook_disabled_accounts; delete from webhook_streams; delete from webhook_messages; delete from webhook_deliveries; delete from work_list; delete from parked_streams;`,
  );

const changeRows = (): Promise<number> => {
  const pages = createDeliveryPages(readModels.pool);
  const kind = deliveryChanges({ pages, clock: systemClock, isWhole: async () => true });
  return workOnce(createWorkList(readModels.pool), kind);
};

/** Positions differ after a move to another store. */
const folded = () =>
  Promise.all([
    query(`select to_jsonb(e) - 'created_position' as row from webhook_endpoints e order by 1`),
    query('select * from webhook_disabled_accounts order by 1'),
    query('select * from webhook_streams order by 1, 2'),
  ]);
const made = () =>
  Promise.all([
    query(`select to_jsonb(m) - 'created_at' as row from webhook_messages m order by 1`),
    // Two cancellations may be worked on in any order: the state is the same.
    query(
      `select to_jsonb(d) - '{created_at,due_at}'::text[]
         || case when state = 'canceled' then '{"generation":null}'::jsonb else '{}' end as row
       from webhook_deliveries d order by 1`,
    ),
  ]);

it('any batches give the same rows, and applying the log again gives no more', async () => {
  const seen = { deliveries: 0, canceled: 0 };
  await fc.assert(
    fc.asyncProperty(steps, cuts, cuts, async (asked, first, second) => {
      const log = logOf(asked);
      await empty();
      await projectLog(readModels.pool, log, first);
      while ((await changeRows()) > 0);
      const [endpoints, rows] = [await folded(), await made()];
      seen.deliveries += rows[1].length;
      seen.canceled += rows[1].filter((row) => JSON.stringify(row).includes('canceled')).length;

      await empty();
      await projectLog(readModels.pool, log, second);
      while ((await changeRows()) > 0);
      expect(await query('select * from parked_streams')).toEqual([]);
      expect(await folded()).toEqual(endpoints);
      expect(await made()).toEqual(rows);

      // Some were tried. Then the checkpoint is lost, and the log has other positions.
      await query(
        `update webhook_deliveries set attempts = 3,
           state = (array['delivered', 'failed', 'due'])[1 + abs(hashtext(id::text)) % 3] where state = 'due'`,
      );
      const tried = await made();
      await query('delete from projection_checkpoints');
      await query('delete from work_list');
      const moved = log.events.map((event, n) => ({ ...event, position: printPosition(1_000 + n) }));
      await projectLog(readModels.pool, { events: moved }, first);
      while ((await changeRows()) > 0);
      expect(await made()).toEqual(tried);
      expect(await folded()).toEqual(endpoints);
      // Exactly the subscriptions with due deliveries have work, and those that were enabled.
      expect(
        await query(
          `select distinct subscription_id from webhook_deliveries d where state = 'due'
             and not exists (select from work_list w where w.kind = '${WEBHOOK}' and w.key = d.subscription_id)`,
        ),
      ).toEqual([]);
    }),
    { numRuns: Number(process.env['HISTORIES'] ?? 25) },
  );
  expect(seen.deliveries).toBeGreaterThan(100);
  expect(seen.canceled).toBeGreaterThan(20);
  console.log(`any cuts: ${seen.deliveries} deliveries, ${seen.canceled} of them canceled`);
}, 300_000);
