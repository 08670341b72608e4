import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { addSeller, connectSeller } from '../../../command/sellers/commands.ts';
import { systemClock as clock } from '../../../shared/async/clock.ts';
import type { SignedUp } from '../../support/person.ts';
import { startReportingSellers, type ReportingSellers } from '../../support/reporting-sellers.ts';
import { startSellers, type TestSellers } from '../../support/sellers.ts';
import { until } from '../../support/until.ts';
import { problemsOf, takeDocumentPicture, untilShown, untilTrue } from '../console-checks.ts';
import { MARKUP, type ConsoleJourney } from '../console-journey.ts';
import { press, tabTo } from '../keyboard.ts';

/** The screens of proposals and of delivery, and those of the service itself; all of them without a mouse. */
export const sellerJourneys = ({ service, signedIn, goTo }: ConsoleJourney): void => {
  let sellers: TestSellers;
  let reporting: ReportingSellers;
  beforeAll(async () => {
    [sellers, reporting] = await Promise.all([startSellers(), startReportingSellers()]);
  }, 60_000);
  afterAll(() => Promise.all([sellers.stop(), reporting.stop()]));

  const connected = async (name: string, url: string): Promise<number> => {
    const { store, secrets } = service().installation;
    const { sellerId } = await addSeller({ store, clock }, { name, channels: [] });
    await connectSeller({ store, secrets, clock }, sellerId, { url, protocol: 'MCP', token: undefined });
    return sellerId;
  };
  const campaignOf = async ({ person }: SignedUp) => {
    const made = await person.post<{ id: number }>('/api/v2/buyer/advertisers', { name: 'Acme Shoes' });
    const advertiserId = made.body.data.id;
    const { body } = await person.post<{ id: string }>('/api/v2/buyer/campaigns', {
      advertiserId,
      name: 'Winter sale',
      brief: 'Reach gardeners',
    });
    return { advertiserId, campaignId: body.data.id, path: `/console/campaigns/${body.data.id}` };
  };
  /** Chooses in a list that has the focus. */
  const choose = async (page: Page, name: string, label: string): Promise<void> => {
    await tabTo(page, name);
    await page.keyboard.type(label);
  };

  /** Names of sellers, keyed by behaviour. */
  const names = {
    quoting: 'Northern News',
    prompting: 'City Radio',
    empty: 'Meadow TV',
    rejecting: 'Harbour Outdoor',
    silent: 'Quiet Print',
    submitted_21000: 'Evening Post',
  } as const;

  it('proposals: sellers are asked after a confirmation, their answers appear while the round runs, and late', async () => {
    const { page, user } = await signedIn();
    const { path } = await campaignOf(user);
    for (const [how, name] of Object.entries(names)) await connected(name, sellers.url(how));
    await goTo(page, `${path}?tab=proposals`);
    await page.getByText('No seller was asked yet.').waitFor();
    await press(page, 'Ask sellers');
    await page.getByRole('dialog').getByLabel(names.silent).waitFor();
    await press(page, 'Ask');
    await page.getByText(/^Asks \d+ sellers for proposals/).waitFor();
    await untilTrue(page, `/^Asks/.test(document.activeElement.textContent)`);
    await press(page, 'Ask them all');
    await page.getByRole('heading', { name: 'What sellers propose' }).waitFor();
    const answerOf = (how: keyof typeof names) => page.getByRole('group', { name: names[how], exact: true });
    await page.getByText('Sellers have time left.').waitFor();
    await answerOf('silent').getByText('It has not answered yet.').waitFor();
    await answerOf('quoting').getByText('It proposed a plan.').waitFor();
    expect(await answerOf('silent').getByText('pending').count()).toBe(1);

    const running = page.url();
    await press(page, 'Winter sale');
    const rounds = page.getByRole('table', { name: 'rounds' });
    await rounds.getByText('running').waitFor();
    await press(page, 'Ask sellers');
    await page.getByRole('dialog').getByLabel(names.empty).waitFor();
    expect(await problemsOf(page, 'ask-sellers')).toEqual([]);
    await tabTo(page, names.empty);
    await page.keyboard.press('Space');
    await press(page, 'Ask');
    await press(page, 'To the round that runs');
    await page.waitForURL(running);

    // The round ends without it. The page would look at each frame until then.
    const round = `/api/v2/buyer${running.split('/console')[1] ?? ''}`;
    await until(async () => {
      const { body } = await user.person.get<{ status: string }>(round);
      return body.data.status !== 'running';
    }, 60_000);
    await answerOf('silent').getByText('It was silent').waitFor();
    await page.getByText('Some sellers answered').waitFor();
    await answerOf('empty').getByText('It answered that it has no products that match.').waitFor();
    await answerOf('rejecting').getByText('The account is suspended').waitFor();
    const products = answerOf('prompting');
    await products.getByText('proposed no plan').waitFor();
    await products.getByText('<img src=x onerror="alert(1)">', { exact: false }).waitFor();
    expect(await products.getByLabel('Proposed plans').count()).toBe(0);
    await answerOf('quoting').getByLabel('Proposed plans').getByText('plan').waitFor();
    await answerOf('submitted_21000').getByText('late', { exact: true }).waitFor();
    expect(await problemsOf(page, 'proposals-sellers')).toEqual([]);

    await tabTo(page, 'Sellers');
    await page.keyboard.press('ArrowRight');
    const compared = page.getByRole('table', { name: 'Sellers side by side' });
    await compared.getByRole('columnheader', { name: names.quoting }).waitFor();
    await compared.getByText('cpm $12.50').first().waitFor();
    await takeDocumentPicture(page, 'proposals');
    expect(await problemsOf(page, 'proposals-side-by-side')).toEqual([]);
    await page.keyboard.press('ArrowRight');
    await page.getByText('LateAnswerRecorded').first().waitFor();
    await goTo(page, `${path}?tab=proposals`);
    await rounds.getByText('partial').waitFor();
    expect(await problemsOf(page, 'proposals')).toEqual([]);
    expect(await page.title()).not.toBe('ran');
  }, 150_000);

  it('delivery: what sellers report and conversions, by chosen rows; currencies are never added up', async () => {
    const { page, user } = await signedIn();
    const { advertiserId, campaignId, path } = await campaignOf(user);
    const sellerIds = [
      await connected(`Dollars ${MARKUP}`, reporting.url('reporting_1')),
      await connected('Euros', reporting.url('euro_1')),
    ];
    await user.person.post(`/api/v2/buyer/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'shop' }],
    });
    const events = [{ eventId: '1', eventTime: new Date().toISOString(), eventType: 'purchase' }];
    await user.person.post('/api/v2/buyer/event-sources/shop/events', { advertiserId, events });
    await goTo(page, `${path}?tab=delivery&period=30`);
    await page.getByText('Nothing was reported for these days.').waitFor();
    await user.person.post(`/api/v2/buyer/campaigns/${campaignId}/proposal-requests`, { sellerIds });
    const report = `/api/v2/buyer/reporting/delivery?campaignId=${campaignId}&dimensions=media_buy`;
    await until(async () => {
      const { body } = await user.person.get<{ rows: readonly unknown[] }>(report);
      return body.data.rows.length === 2;
    });
    await goTo(page, `${path}?tab=delivery`);
    const sums = page.getByLabel('Sums', { exact: true });
    await sums.getByText('2,000').waitFor();
    expect(await sums.getByText('Spend').count()).toBe(0);
    await page.getByText('Amounts are in several currencies').waitFor();
    const table = page.getByRole('table', { name: 'delivery' });
    await table.getByText('$12.50', { exact: true }).first().waitFor();
    await table.getByText('€12.50', { exact: true }).first().waitFor();
    for (const absent of ['Conversions', 'Views', 'ROAS'])
      expect(await table.getByRole('columnheader', { name: absent, exact: true }).count()).toBe(0);
    await untilShown(page);
    await takeDocumentPicture(page, 'delivery');
    expect(await problemsOf(page, 'delivery')).toEqual([]);

    await choose(page, 'A row for each', 'Media');
    await page.waitForURL(/by=media_buy/);
    await table.getByText('mb-eur').waitFor();
    await choose(page, 'Of', 'Its');
    await page.waitForURL(/of=advertiser/);
    await table.getByRole('columnheader', { name: 'Conversions' }).waitFor();
    await choose(page, 'Period', 'From');
    await page.waitForURL(/period=dates/);
    await table.waitFor();
    await goTo(page, `${path}?tab=delivery&period=dates&startDate=2026-01-01&endDate=2026-12-31`);
    await page.getByRole('alert').getByText('90 days').waitFor();
    await goTo(page, `/console/advertisers/${advertiserId}?tab=delivery`);
    await table.getByRole('columnheader', { name: 'Conversions' }).waitFor();
    expect(await problemsOf(page, 'delivery-of-advertiser')).toEqual([]);
    expect(await page.title()).not.toBe('ran');
  }, 60_000);

  it('limits and system: what is left of the window, and how far the read models are', async () => {
    const { page } = await signedIn();
    await goTo(page, '/console');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await press(page, 'Limits');
    const left = page.getByText(/^[\d,]+ of [\d,]+ requests left for \d+ s\.$/);
    const closed = page.getByText('The last window has closed');
    await left.or(closed).waitFor();
    // It may close at any time. The next counted answer names the next one.
    if (await closed.isVisible()) await page.reload();
    await left.waitFor();
    const limits = page.getByRole('table', { name: 'limits' });
    await limits.getByRole('row', { name: /^Sign-up/ }).waitFor();
    expect(await problemsOf(page, 'limits')).toEqual([]);
    await press(page, 'Skip to the content');
    await press(page, 'System');
    const readModels = page.getByRole('table', { name: 'read models' });
    await readModels.getByRole('row', { name: /^campaigns/ }).waitFor();
    await page
      .getByRole('table', { name: 'parts' })
      .getByRole('row', { name: /^database ready/ })
      .waitFor();
    await untilTrue(page, `document.activeElement.tagName === 'H1'`);
    await press(page, 'Read again');
    await press(page, 'All details');
    await page.getByText('"status": "ready"').waitFor();
    expect(await problemsOf(page, 'system')).toEqual([]);
  });
};
