import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { addMember } from '../support/invited.ts';
import type { SignedUp } from '../support/person.ts';
import { send, type Reservation } from '../support/uploads.ts';
import { problemsOfAll, takeDocumentPicture, untilTrue } from './console-checks.ts';
import { MARKUP } from './console-journey.ts';
import { describeConsole } from './console-suite.ts';
import { tabTo, type } from './keyboard.ts';

/** Journeys through the screens of advertisers, campaigns and creatives, and through what all screens share. */

describeConsole('the console', ({ service, open, takeProblems, signedIn, goTo }) => {
  it('the first advertiser and its campaign: created by forms, found in tables and by search', async () => {
    const { page } = await signedIn();
    await goTo(page, '/console');
    await page.getByRole('link', { name: 'Create an advertiser' }).click();
    await page.getByRole('button', { name: 'New advertiser' }).first().click();
    await page.getByLabel('Name').last().fill(MARKUP);
    await page.getByLabel('Currency').fill('EUR');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: MARKUP }).waitFor();
    await page.getByRole('link', { name: 'Campaigns' }).click();
    await page.getByRole('button', { name: 'New campaign' }).first().click();
    await page.getByLabel('Name', { exact: false }).last().fill('Winter sale');
    await page.getByLabel('Budget').fill('5000');
    await page.getByRole('button', { name: 'Create the draft' }).click();
    await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
    await page.getByText('€5,000.00').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByLabel('Search').last().fill('winter');
    await page.getByRole('button', { name: /^Winter sale/ }).waitFor();
    expect(await page.title()).not.toBe('ran');
  });

  it('the API reference sends a request with a key, and nothing to another host', async () => {
    const { apiKey, api } = await service().openAccount();
    await api.post('/advertisers', { name: 'Acme Shoes' });
    const page = await open();
    const errors: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await goTo(page, '/docs#tag/advertisers/GET/api/v2/buyer/advertisers');
    // The page is large: it may take its time on a busy machine.
    await page.getByPlaceholder('Token').first().fill(apiKey, { timeout: 60_000 });
    await page.getByRole('button', { name: '(get /api/v2/buyer/advertisers)' }).click();
    const answered = page.waitForResponse((one) => one.url().includes('/api/v2/buyer/advertisers'));
    await page.getByRole('button', { name: /^Send/ }).first().click();
    const answer = await answered;
    expect([answer.status(), await answer.json()]).toEqual([
      200,
      expect.objectContaining({ data: [expect.objectContaining({ name: 'Acme Shoes' })] }),
    ]);
    await page.getByText('"Acme Shoes"').first().waitFor();
    expect(errors).toEqual([]);
  });

  it('a refusal names the message, the field and the request', async () => {
    const { page } = await signedIn();
    await goTo(page, '/console/advertisers');
    await page.getByRole('button', { name: 'New advertiser' }).first().click();
    await page.getByLabel('Name').last().fill('Acme');
    await page.getByLabel('Currency').fill('eur');
    await page.keyboard.press('Enter');
    await page.getByText('must be three uppercase letters').waitFor();
    expect(await page.getByLabel('Currency').getAttribute('aria-invalid')).toBe('true');
    await page.getByText(/^Request [\w-]{36}$/).waitFor();
  });

  it('history: revisions on a line, differences, the past, who set a value, and what followed', async () => {
    const { page, user } = await signedIn();
    const { body } = await user.person.post<{ id: number }>('/api/v2/buyer/advertisers', {
      name: 'Acme Shoes',
    });
    const { id } = body.data;
    await user.person.put(`/api/v2/buyer/advertisers/${id}`, { name: 'Acme Boots' });
    await goTo(page, `/console/advertisers/${id}?tab=history`);
    await page.getByText('AdvertiserUpdated').first().waitFor();
    const changes = page.getByRole('table', { name: 'Changes' });
    await changes.getByText('Acme Boots').waitFor();
    await changes.getByText('Acme Shoes').waitFor();
    await page.getByRole('slider').focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('AdvertiserCreated').first().waitFor();
    expect(page.url()).toContain('revision=1');
    await page.getByText('As it was').click();
    await page.getByText('"name": "Acme Shoes"').waitFor();
    await page.getByText('asOf=1').waitFor();
    await page.getByRole('slider').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('Explain values').click();
    await page.getByRole('row', { name: /^name/ }).getByText('AdvertiserUpdated, revision 2').waitFor();
    await page.getByText('Compare', { exact: true }).click();
    await page.getByLabel('Compare revision').selectOption('0');
    await page.getByRole('row', { name: /^name/ }).getByText('Acme Boots').waitFor();
    await page.getByText('What followed').click();
    await page.getByRole('main').getByRole('list').getByText('AdvertiserUpdated').waitFor();
  });

  it('a change by another client appears in every tab of the browser, through one stream and without polling', async () => {
    const { page, user } = await signedIn();
    const streams: string[] = [];
    page.context().on('request', (request) => {
      if (request.url().includes('/realtime')) streams.push(request.url());
    });
    await goTo(page, '/console/advertisers');
    await page.getByText('There is no advertiser yet.').waitFor();
    const second = await page.context().newPage();
    await second.goto(`${service().baseUrl}/console/advertisers`);
    await second.getByText('There is no advertiser yet.').waitFor();
    await user.person.post('/api/v2/buyer/advertisers', { name: 'From elsewhere' });
    await page.getByText('From elsewhere').waitFor();
    await second.getByText('From elsewhere').waitFor();
    expect(streams).toHaveLength(1);
    await page.close();
    await expect(second.getByText('From elsewhere').isVisible()).resolves.toBe(true);
    await user.person.post('/api/v2/buyer/advertisers', { name: 'After the first tab' });
    await second.getByText('After the first tab').waitFor();
    expect(streams).toHaveLength(2);
  });

  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const file = (name: string, buffer = png) => ({ name, mimeType: 'image/png', buffer });

  it('library: several files, a notice of the same file, and another try after a failure', async () => {
    const { page, user } = await signedIn();
    await user.person.post('/api/v2/buyer/advertisers', { name: 'Acme' });
    await goTo(page, '/console/library');
    const input = page.locator('input[type=file]');
    await input.setInputFiles([file('boot.png'), file('copy.png')]);
    await page.getByText('boot.png is in the library').waitFor();
    await page.getByText('copy.png was not sent. The library has this file: boot.png').waitFor();
    await page.getByRole('table', { name: 'assets' }).getByRole('link', { name: 'boot.png' }).waitFor();
    await page.getByRole('button', { name: 'Add it anyway' }).click();
    await page.getByText('copy.png is in the library').waitFor();
    let isBroken = true;
    await page.route('**/assets/uploads/*', (route) => (isBroken ? route.abort() : route.continue()));
    await input.setInputFiles([file('other.png', Buffer.concat([png, png]))]);
    await page.getByText('other.png failed').waitFor();
    isBroken = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('other.png is in the library').waitFor();
    const dropped = await page.evaluateHandle(
      `(() => { const all = new DataTransfer(); all.items.add(new File(['boots'], 'dropped.txt', { type: 'text/plain' })); return all; })()`,
    );
    await page.getByRole('group', { name: 'Upload' }).dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByText('dropped.txt is in the library').waitFor();
    await page.getByRole('link', { name: 'dropped.txt' }).click();
    await page.getByRole('heading', { name: 'dropped.txt' }).waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('AssetUploaded').first().waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('3 assets').waitFor();
    expect(await page.getByRole('link', { name: 'dropped.txt' }).count()).toBe(0);
  });

  interface Sample {
    readonly advertiserId: number;
    readonly campaignId: string;
    readonly creativeId: string;
  }
  const sample = async ({ person }: SignedUp): Promise<Sample> => {
    const post = async <Data>(path: string, body: object): Promise<Data> => {
      const answer = await person.post<Data>(`/api/v2/buyer${path}`, body);
      expect([path, answer.status]).toEqual([path, 201]);
      return answer.body.data;
    };
    const { id } = await post<{ id: number }>('/advertisers', {
      name: 'Acme Shoes',
      preferredTimezone: 'Asia/Tokyo',
      // Its creatives are reviewed by the test itself.
      sandbox: true,
    });
    const campaign = await post<{ id: string }>('/campaigns', {
      advertiserId: id,
      name: 'Winter sale',
      budget: { total: 5_000 },
      flight: { startAt: '2100-01-01T00:00:00Z', endAt: '2100-02-01T00:00:00Z' },
    });
    const creative = await post<{ id: string }>(`/campaigns/${campaign.id}/creatives/create`, {
      name: MARKUP,
      formatKind: 'custom',
      copy: { headline: MARKUP },
    });
    return { advertiserId: id, campaignId: campaign.id, creativeId: creative.id };
  };

  it('a campaign is launched after a readable confirmation; reviews of its creatives appear live', async () => {
    const { page, user } = await signedIn();
    const { campaignId, creativeId } = await sample(user);
    await goTo(page, `/console/campaigns/${campaignId}`);
    const phase = page.getByRole('list', { name: 'Phases' }).locator('[aria-current=step]');
    expect(await phase.textContent()).toBe('draft');
    await page.getByText('9:00 AM GMT+9').first().waitFor();
    await page.getByRole('button', { name: 'Launch' }).click();
    const dialog = page.getByRole('dialog');
    for (const text of [
      'Acme Shoes',
      '$5,000.00',
      '(Asia/Tokyo)',
      '1 complete creative is submitted to the sellers',
    ])
      await dialog.getByText(text).waitFor();
    await dialog.getByText('9:00').first().waitFor();
    await dialog.getByRole('button', { name: 'Launch it now' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await expect(phase.textContent()).resolves.toBe('active');
    await page.getByRole('tab', { name: 'Creatives' }).click();
    const grid = page.getByRole('table', { name: 'Creatives and sellers' });
    await grid.getByText('processing').nth(2).waitFor();
    const review = await user.person.put(`/api/v2/buyer/creatives/${creativeId}/sellers/1/review`, {
      status: 'rejected',
      rejectionReason: MARKUP,
    });
    expect(review.status).toBe(200);
    await grid.getByText('rejected').waitFor();
    await grid.getByText(MARKUP).nth(1).waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('What followed').click();
    await page.getByRole('main').getByText('job sellers').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();

    await page.getByRole('link', { name: 'Home' }).click();
    const needs = page.getByRole('list', { name: 'Needs you' }).getByRole('listitem');
    await needs.getByText('was rejected by').waitFor();
    await user.person.put(`/api/v2/buyer/creatives/${creativeId}/sellers/1/review`, { status: 'approved' });
    await page.getByText('Nothing fails at present').waitFor();
    expect(await needs.count()).toBe(0);

    await goTo(page, `/console/campaigns/${campaignId}`);
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('dialog').getByText('this cannot be undone').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor({ state: 'hidden' });
    await expect(phase.textContent()).resolves.toBe('archived');
    expect(await page.title()).not.toBe('ran');
  });

  it('a creative: its slots, submission to one seller, and a duplicate', async () => {
    const { page, user } = await signedIn();
    const { creativeId } = await sample(user);
    await goTo(page, `/console/creatives/${creativeId}?tab=sellers`);
    await page.getByRole('button', { name: 'Submit to Sandbox TV' }).click();
    await page.getByRole('row', { name: /^Sandbox TV processing/ }).waitFor();
    await page.getByRole('button', { name: 'Duplicate' }).click();
    await page.getByRole('heading', { name: `${MARKUP} (copy)` }).waitFor();
    await goTo(page, '/console/creatives');
    await page.getByRole('link', { name: `${MARKUP} (copy)` }).waitFor();
  });

  it('a change of a creative keeps its slots, also an empty one, and an asset that the list does not have', async () => {
    const { page, user } = await signedIn();
    const { advertiserId, campaignId, creativeId } = await sample(user);
    const reserved = await user.person.post<Reservation>(
      `/api/v2/buyer/advertisers/${advertiserId}/assets/uploads`,
      { name: 'Hero', mimeType: 'image/png' },
    );
    const { assetId, uploadUrl } = reserved.body.data;
    expect((await send(uploadUrl, png)).status).toBe(200);
    const path = `/api/v2/buyer/campaigns/${campaignId}/creatives/${creativeId}`;
    const slots = [
      { slotId: 'hero', kind: 'asset', assetId },
      { slotId: 'logo', kind: 'asset' },
    ];
    expect((await user.person.put(path, { slots })).status).toBe(200);
    await page.route(/\/assets\?/, (route) =>
      route.fulfill({ json: { data: [], error: null, meta: { pagination: { total: 0 } } } }),
    );
    const changed = async (name: string): Promise<unknown> => {
      await page.getByLabel(/^Name/).fill(name);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name }).waitFor();
      return (await user.person.get<{ slots: unknown }>(path)).body.data.slots;
    };
    await goTo(page, `/console/creatives/${creativeId}?tab=change`);
    expect(await changed('Once')).toEqual(slots);
    await page.getByLabel(/^Asset/).selectOption({ label: 'none' });
    expect(await changed('Twice')).toEqual([{ slotId: 'hero', kind: 'asset' }, slots[1]]);

    await page.getByLabel(/^Headline/).fill('Typed');
    expect((await user.person.put(path, { name: 'By another person' })).status).toBe(200);
    await page.getByText('It has changed since this form began.').waitFor();
    expect(await page.getByLabel(/^Headline/).inputValue()).toBe('Typed');
    await page.getByRole('button', { name: 'Show the present values' }).click();
    await untilTrue(page, `document.querySelector('[name=name]').value === 'By another person'`);
    expect(await page.getByText('It has changed since this form began.').count()).toBe(0);
  });

  it('the audit log: filters in the address, the tree of one entry, and an export of the filtered entries', async () => {
    const { page, user } = await signedIn();
    await sample(user);
    await goTo(page, '/console/audit-log');
    await page.getByLabel('Type', { exact: true }).selectOption('CAMPAIGN');
    await page.waitForURL('**resourceTypes=CAMPAIGN*');
    const table = page.getByRole('table', { name: 'entries' });
    await table.getByText('CampaignCreated').waitFor();
    await page.getByText('AdvertiserCreated').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'As CSV' }).click(),
    ]);
    const text = await readFile(await download.path(), 'utf8');
    expect([download.suggestedFilename(), text.split('\r\n').length]).toEqual(['entries.csv', 2]);
    expect(text).toContain('CampaignCreated');
    await table.getByRole('link', { name: 'Tree' }).click();
    await page.getByRole('main').getByRole('list').getByText('CampaignCreated').waitFor();
  });

  it('archives chosen advertisers, and undoes it', async () => {
    const { page, user } = await signedIn();
    for (const name of ['One', 'Two', 'Three']) await user.person.post('/api/v2/buyer/advertisers', { name });
    await goTo(page, '/console/advertisers');
    await page.getByLabel('Choose One').check();
    await page.getByLabel('Choose Two').check();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByText('1 advertiser').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('3 advertisers').waitFor();
  });

  it('the address names the advertiser: also an archived one, from screen to screen, and none that is not there', async () => {
    const { page, user } = await signedIn();
    const create = (name: string) => user.person.post<{ id: number }>('/api/v2/buyer/advertisers', { name });
    const [first, second] = [await create('One'), await create('Two')];
    const { id } = first.body.data;
    await user.person.delete(`/api/v2/buyer/advertisers/${id}`);
    await goTo(page, `/console/library?advertiserId=${id}`);
    const chosen = page.getByLabel('Advertiser').locator('option:checked');
    await page.getByText('The library is empty.').waitFor();
    expect(await chosen.textContent()).toBe('One');
    await page.getByRole('link', { name: 'Conversions' }).click();
    await page.getByText('There is no event source yet.').waitFor();
    expect([page.url(), await chosen.textContent()]).toEqual([
      expect.stringContaining(`/conversions?advertiserId=${id}`),
      'One',
    ]);
    await goTo(page, `/console/campaigns?advertiserId=${id}`);
    await page.getByText('Nothing matches the filters.').waitFor();
    expect(await chosen.textContent()).toBe(String(id));
    await goTo(page, '/console/creatives?advertiserId=999999');
    await page.getByText('an advertiser that is not there').waitFor();
    await page.getByRole('link', { name: 'Show the newest one' }).click();
    await page.getByText('There is no creative yet.').waitFor();
    expect(await chosen.textContent()).toBe('Two');
    await goTo(page, '/console/advertisers?page=9');
    await page.getByRole('button', { name: 'This page is empty' }).click();
    // A listed advertiser whose own page was read is a choice once.
    await page.getByRole('link', { name: 'Two' }).click();
    await page.getByRole('heading', { name: 'Two' }).waitFor();
    await goTo(page, `/console/library?advertiserId=${second.body.data.id}`);
    await page.getByText('The library is empty.').waitFor();
    expect(await page.getByLabel('Advertiser').locator('option').allTextContents()).toEqual(['Two']);
  });

  it('a member who is not an admin has a first page, too', async () => {
    const { user } = await signedIn();
    const member = await addMember(service(), user, 'member@acme.example');
    await user.person.post('/api/v2/buyer/advertisers', { name: 'Acme' });
    const { page } = await signedIn(member);
    await goTo(page, '/console');
    await page.getByText('advertiser.created').waitFor();
    await page.getByText('Nothing fails at present').waitFor();
    expect(await page.getByRole('list', { name: 'First steps' }).count()).toBe(0);
  });

  it('the first steps tick themselves off from the log', async () => {
    const { page, user } = await signedIn();
    await goTo(page, '/console');
    const done = page.getByRole('list', { name: 'First steps' }).getByText('done');
    expect(await done.count()).toBe(0);
    await sample(user);
    await done.nth(2).waitFor();
  });

  /** Pictures of the documents. */
  const pictures: Readonly<Record<string, string>> = {
    '/advertisers/ID?tab=history': 'history',
    '/advertisers/ID?tab=history&view=explain': 'explain',
    '/campaigns/ID': 'campaign',
  };

  it('every screen is accessible, light and dark, and fits 390 pixels', async () => {
    const { page, user } = await signedIn();
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    const { advertiserId, campaignId, creativeId } = await sample(user);
    await user.person.put(`/api/v2/buyer/advertisers/${advertiserId}`, { name: 'Acme Boots' });
    const tabsOf = (path: string, ...names: readonly string[]): readonly string[] => [
      path,
      ...names.map((name) => `${path}?tab=${name}`),
    ];
    const history = ['compare', 'state', 'explain', 'causes'].map(
      (view) => `/advertisers/${advertiserId}?tab=history&view=${view}`,
    );
    const paths = [
      '',
      '/advertisers',
      ...tabsOf(`/advertisers/${advertiserId}`, 'campaigns', 'delivery', 'change', 'history', 'json'),
      ...history,
      '/campaigns',
      ...tabsOf(`/campaigns/${campaignId}`, 'creatives', 'change'),
      '/creatives',
      ...tabsOf(`/creatives/${creativeId}`, 'sellers', 'change'),
      '/library',
      '/syndication',
      '/conversions',
      '/events',
      '/audit-log',
      '/nothing',
    ];
    await goTo(page, '/console');
    const found = await problemsOfAll(page, paths, async (path) => {
      const picture = pictures[path.replaceAll(/\d+|c(?:mp|re)_\w+/g, 'ID')];
      if (picture !== undefined) await takeDocumentPicture(page, picture);
    });
    expect(found).toEqual([]);
  }, 180_000);

  it('with the keyboard alone, a person goes from the sign-up to a launched campaign', async () => {
    const page = await open();
    await goTo(page, '/console/sign-up');
    await page.locator('[name=company]:focus').waitFor();
    await page.keyboard.type('Acme');
    await type(page, 'E-mail', 'keyboard@acme.example');
    await type(page, 'Password', 'correct horse battery staple');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    await goTo(page, '/console/advertisers');
    await page.getByText('There is no advertiser yet.').waitFor();
    await tabTo(page, 'New advertiser');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await untilTrue(page, `document.activeElement.name === 'name'`);
    await page.keyboard.type('Acme');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Acme' }).waitFor();
    await tabTo(page, 'Skip to the content');
    await tabTo(page, 'Campaigns');
    await page.keyboard.press('Enter');
    await page.getByText('There is no campaign yet.').waitFor();
    await tabTo(page, 'New campaign');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await untilTrue(page, `document.activeElement.name === 'name'`);
    await page.keyboard.type('Winter sale');
    await type(page, 'Budget', '5000');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
    await tabTo(page, 'Launch');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await untilTrue(page, `document.activeElement.textContent === 'Launch it now'`);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  it('a 429 is a pause, a lost stream is reported and resumes, and a file that is gone loads the page again once', async () => {
    const { page, user } = await signedIn();
    let isDown = true;
    await page.route('**/realtime*', (route) => (isDown ? route.abort() : route.continue()));
    await goTo(page, '/console');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();
    let refusals = 1;
    await page.route('**/api/v2/buyer/advertisers?*', (route) =>
      (refusals -= 1) >= 0
        ? route.fulfill({
            status: 429,
            headers: { 'Retry-After': '4' },
            json: { data: null, error: { code: 'RATE_LIMITED', message: 'no' } },
          })
        : route.continue(),
    );
    await page.getByRole('link', { name: 'Advertisers' }).click();
    await page.getByText('The page goes on by itself').waitFor();
    await page.getByText('There is no advertiser yet.').waitFor();
    await page.getByText('The connection for live changes is lost').waitFor();
    await user.person.post('/api/v2/buyer/advertisers', { name: 'While it was lost' });
    isDown = false;
    await page.getByText('While it was lost').waitFor();
    await page.getByText('The connection for live changes is lost').waitFor({ state: 'hidden' });
    let loads = 0;
    page.on('load', () => (loads += 1));
    await page.route('**/console/assets/campaigns-*.js', (route) => route.fulfill({ status: 404, body: '' }));
    await page.getByRole('link', { name: 'Campaigns' }).click();
    await page.getByRole('heading', { name: 'The page has failed' }).waitFor();
    expect(loads).toBe(1);
    // The file that is gone is also an error of the page.
    takeProblems();
  });

  it('where no session can be kept, it asks for https', async () => {
    const page = await open();
    await page.goto(`${service().baseUrl.replace('127.0.0.1', 'exchange.test')}/console`);
    await page.getByRole('alert').filter({ hasText: 'Open this page with https' }).waitFor();
  });

  it('a person without a session is led to the sign-in, and back', async () => {
    const page = await open();
    await goTo(page, '/console/campaigns?phase=draft');
    await page.waitForURL(`**/console/sign-in?next=${encodeURIComponent('/console/campaigns?phase=draft')}`);
  });
});
