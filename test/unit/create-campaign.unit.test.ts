import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lockCurrency, loadAdvertiser } from '../../command/advertisers/handler.ts';
import { createCampaign } from '../../command/campaigns/commands.ts';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { campaignStream } from '../../domain/campaigns/campaign.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { ADVERTISER, CUSTOMER, openCampaignLog, type CampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { processOf } from '../support/two-processes.ts';

const now = '2026-01-01T00:00:00.000Z';
let log: CampaignLog;
beforeEach(async () => {
  log = await openCampaignLog();
});

const changeCurrency = (primaryCurrency: string, through: EventStore) =>
  log.onAdvertiser(
    { type: 'UpdateAdvertiser', now, changes: { primaryCurrency }, newCapIds: [], unchangeable: {} },
    through,
  );
const refusalOf = (error: unknown) => (error instanceof ApiError ? [error.status, error.body.field] : error);

const body = { advertiserId: ADVERTISER, name: 'Spring', budget: { total: 10 } };

it('given a change of the currency and the first campaign in two processes at once, then both have the same currency', async () => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 6 }), { minLength: 8, maxLength: 8 }), async (lengths) => {
      log = await openCampaignLog();
      const left = [...lengths];
      const pauses = (): number => left.pop() ?? 0;
      const [campaign, change] = await Promise.all([
        createCampaign(log.writes(processOf(log.store, pauses)), body, commandRequest(CUSTOMER)),
        changeCurrency('EUR', processOf(log.store, pauses)),
      ]);
      const advertiser = await loadAdvertiser(log.writes(), CUSTOMER, ADVERTISER);
      expect(advertiser).toMatchObject({ currencyLocked: true, primaryCurrency: campaign.currency });
      expect(campaign.budget).toEqual({ total: 10, currency: campaign.currency });
      expect(change.outcome).toBe(campaign.currency === 'EUR' ? 'done' : 'refused');
      outcomes.add(campaign.currency);
    }),
    { numRuns: 200 },
  );
  expect([...outcomes].sort()).toEqual(['EUR', 'USD']);
});

describe('a refused creation has no effect', () => {
  it('in another currency, it does not lock the currency', async () => {
    const wrong = { ...body, budget: { total: 1, currency: 'EUR' } };
    const refused = await createCampaign(log.writes(), wrong, commandRequest(CUSTOMER)).catch(refusalOf);
    expect(refused).toEqual([400, 'budget.currency']);
    expect(await log.typesOf(advertiserStream(CUSTOMER, ADVERTISER))).toEqual(['AdvertiserCreated']);
  });
  it('for an advertiser that is archived, unknown or belongs to another account', async () => {
    await log.onAdvertiser({ type: 'ArchiveAdvertiser', now });
    expect(await createCampaign(log.writes(), body, commandRequest(CUSTOMER)).catch(refusalOf)).toEqual([
      409,
      undefined,
    ]);
    expect(
      await createCampaign(log.writes(), { ...body, advertiserId: 6 }, commandRequest(CUSTOMER)).catch(
        refusalOf,
      ),
    ).toEqual([404, 'advertiserId']);
    expect(await createCampaign(log.writes(), body, commandRequest(8)).catch(refusalOf)).toEqual([
      404,
      'advertiserId',
    ]);
    expect(await log.typesOf(advertiserStream(CUSTOMER, ADVERTISER))).toHaveLength(2);
  });
});

it.each(everyAppendOf(2))(
  'interrupted at append %i (%s): a repeat completes it once, even if the advertiser has changed',
  async (n, how) => {
    const failing = createFailingAppends();
    const through = failing.wrap(log.store);
    const commandId = randomUUID();
    failing.failFrom(n, how);
    await expect(
      createCampaign(log.writes(through), body, commandRequest(CUSTOMER, commandId)),
    ).rejects.toThrow('cut');
    await failing.heal();
    const stream = campaignStream(CUSTOMER, derivedId(commandId, 'campaign'));
    const isThere = (await log.typesOf(stream)).length > 0;
    if (isThere) await log.onAdvertiser({ type: 'ArchiveAdvertiser', now });
    const again = await createCampaign(log.writes(through), body, commandRequest(CUSTOMER, commandId, true));
    const thrice = await createCampaign(log.writes(through), body, commandRequest(CUSTOMER, commandId, true));
    expect(thrice).toEqual(again);
    expect(await log.typesOf(stream)).toEqual(['CampaignCreated']);
    expect(await log.typesOf(advertiserStream(CUSTOMER, ADVERTISER))).toEqual([
      'AdvertiserCreated',
      'AdvertiserCurrencyLocked',
      ...(isThere ? ['AdvertiserArchived'] : []),
    ]);
  },
);

it('locks the currency once for any number of campaigns', async () => {
  for (let round = 0; round < 3; round += 1)
    await createCampaign(log.writes(), body, commandRequest(CUSTOMER));
  await lockCurrency(log.writes(), ADVERTISER, 'USD', now, commandRequest(CUSTOMER));
  expect(await log.typesOf(advertiserStream(CUSTOMER, ADVERTISER))).toEqual([
    'AdvertiserCreated',
    'AdvertiserCurrencyLocked',
  ]);
});
