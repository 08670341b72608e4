import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { SignedUp } from '../../support/person.ts';
import { startSandboxAgent, type SandboxAgent } from '../../support/sandbox-agent.ts';
import { problemsOf, untilShown } from '../console-checks.ts';
import { MARKUP as markup, type ConsoleJourney } from '../console-journey.ts';
import { press, tabTo } from '../keyboard.ts';
import { webhookPages } from './webhooks.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** @returns the pages of an agent, an audience and a catalog */
export const dataPages = async ({ person }: SignedUp, agentUrl: string): Promise<readonly string[]> => {
  const made = await person.post<{ id: number }>('/api/v2/buyer/advertisers', { name: markup });
  const { id } = made.body.data;
  const path = `/api/v2/buyer/advertisers/${id}`;
  const account = { account_id: String(id) };
  await person.post(`${path}/audiences/sync`, { audiences: [{ audienceId: 'all', name: markup, add: [] }] });
  const catalogs = [{ catalog_id: 'shoes', type: 'product', name: markup, items: [{ item_id: '1' }] }];
  await person.post(`${path}/catalogs/sync`, { account, catalogs });
  const agent = await person.post<{ id: string }>('/api/v2/buyer/adcp-agents', {
    name: markup,
    url: agentUrl,
    protocol: 'MCP',
  });
  return [`/agents/${agent.body.data.id}`, `/audiences/${id}/all`, `/catalogs/${id}/shoes`];
};

/** The screens of data: syndication, conversions, events. */
export const dataJourneys = ({ signedIn, goTo }: ConsoleJourney): { readonly agentUrl: () => string } => {
  let agent: SandboxAgent;
  beforeAll(async () => {
    agent = await startSandboxAgent();
  }, 60_000);
  afterAll(() => agent.stop());

  const advertiserOf = async ({ person }: SignedUp): Promise<number> => {
    const { status, body } = await person.post<{ id: number }>('/api/v2/buyer/advertisers', { name: 'Acme' });
    expect(status).toBe(201);
    return body.data.id;
  };
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

  it('syndication: an agent and an audience, from the first switch to the agent; failures and another try', async () => {
    const { page, user } = await signedIn();
    await advertiserOf(user);
    await goTo(page, '/console/syndication');
    await page.getByText('There is no agent yet.').waitFor();
    await page.getByRole('button', { name: 'Register an agent' }).click();
    await page.getByLabel('Name').last().fill('Sandbox agent');
    await page.getByLabel('Address').fill(agent.url);
    await page.getByLabel('Your account there').fill('console');
    await page.getByLabel('Bearer token').fill(agent.token);
    await page.getByRole('button', { name: 'Register', exact: true }).click();
    await page.getByText('There is nothing to send yet.').waitFor();
    await page.getByRole('button', { name: 'New audience' }).click();
    await page.getByLabel(/^Id/).fill('customers');
    await page.getByLabel('Name', { exact: true }).last().fill(markup);
    await page.getByLabel('E-mail addresses').fill('Ann@acme.example, bob@acme.example');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const customers = row(page, markup);
    await customers.getByText('2 members').waitFor();
    const flip = async (): Promise<void> => {
      await customers.getByRole('switch').focus();
      await page.keyboard.press('Space');
    };

    await agent.behave({ mode: 'submitted', delayMs: 5_000 });
    await flip();
    await customers.getByText('SYNCING').waitFor();
    await customers.getByText('COMPLETED').waitFor();
    const members = Object.values((await agent.members('console', 'customers')) ?? {});
    expect(members.sort()).toEqual([sha256('ann@acme.example'), sha256('bob@acme.example')].sort());

    await agent.behave({ mode: 'rejecting', delayMs: 0 });
    await flip();
    await customers.getByText('DISABLED').waitFor();
    await flip();
    await customers.getByText('FAILED').waitFor();
    await customers.getByText(/suspended/i).waitFor();
    expect(await problemsOf(page, 'syndication-board')).toEqual([]);
    await agent.behave({ mode: 'works', delayMs: 0 });
    await customers.getByRole('button', { name: /again$/ }).click();
    await customers.getByText('COMPLETED').waitFor();

    await customers.getByRole('link', { name: markup, exact: true }).click();
    await page.getByRole('heading', { name: markup }).waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('AudienceSynced').first().waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole('columnheader', { name: 'Sandbox agent' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Sandbox agent' }).waitFor();
    await page.getByText(agent.url).first().waitFor();
    await page.goBack();

    await customers.getByRole('link', { name: /^Details/ }).click();
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText('The agent has it').first().waitFor();
    await steps.getByText('Failed, and is not tried again by itself').waitFor();
    await untilShown(page);
    expect(await problemsOf(page, 'syndication-record')).toEqual([]);
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByText('/syndication-status/syn_').first().waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('SyndicationCompleted').first().waitFor();
    expect(await page.title()).not.toBe('ran');
  }, 90_000);

  it('syndication as a list: filters in the address, and its export', async () => {
    const { page, user } = await signedIn();
    const advertiserId = await advertiserOf(user);
    const agents = [];
    for (const name of ['One', 'Two']) {
      const { body } = await user.person.post<{ id: string }>('/api/v2/buyer/adcp-agents', {
        name,
        url: agent.url,
        protocol: 'MCP',
        accountId: name,
        auth: { type: 'bearer', token: agent.token },
      });
      agents.push(body.data.id);
    }
    const path = `/api/v2/buyer/advertisers/${advertiserId}`;
    await user.person.post(`${path}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'shop' }],
    });
    await user.person.post(`${path}/syndicate`, { resourceId: 'shop', adcpAgentIds: agents, enabled: true });
    await goTo(page, `/console/syndication?view=list&advertiserId=${advertiserId}`);
    const table = page.getByRole('table', { name: 'deliveries' });
    await table.getByText('COMPLETED').nth(1).waitFor();
    await page.getByLabel('Agent').selectOption({ label: 'Two' });
    await page.waitForURL(/adcpAgentId=/);
    await page.getByText('1 delivery').waitFor();
    expect(await problemsOf(page, 'syndication-list')).toEqual([]);
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'As CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
    expect([download.suggestedFilename(), lines.length]).toEqual(['deliveries.csv', 2]);
    expect(lines[1]).toContain('shop,Event source,Two,COMPLETED');
  });

  const purchase = (eventId: string, eventTime = new Date().toISOString()) => ({
    eventId,
    eventTime,
    eventType: 'purchase',
  });

  it('conversions: an event source, a checked event, and events of a program that appear as they arrive', async () => {
    const { page, user } = await signedIn();
    const advertiserId = await advertiserOf(user);
    const reads: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/events/received')) reads.push(request.url());
    });
    await goTo(page, '/console/conversions');
    await page.getByText('There is no event source yet.').waitFor();
    await page.getByRole('button', { name: 'New event source' }).click();
    await page.getByLabel(/^Id/).fill('shop');
    await page.getByLabel('Name', { exact: true }).last().fill(markup);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('link', { name: markup }).waitFor();
    await page.getByText('not_seen').waitFor();
    await page.getByRole('button', { name: 'Send an event' }).click();
    await page.getByLabel('Value').fill('49.9');
    await page.getByLabel('Currency').fill('eur');
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByText('Rejected: currency must be three uppercase letters.').waitFor();
    await page.getByLabel('Currency').fill('EUR');
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByText('It would count.').waitFor();
    await page.getByText('"testEventCode":"console"').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('0 accepted, 0 rejected').waitFor();
    const readsBefore = reads.length;
    const events = [purchase('1'), purchase('2'), purchase('2'), purchase('3', 'yesterday')];
    await user.person.post('/api/v2/buyer/event-sources/shop/events', { advertiserId, events });
    await page.getByText('2 accepted, 1 rejected').waitFor();
    await page.getByRole('log').getByText('2 more accepted, 1 more rejected').waitFor();
    const reasons = page.getByRole('table', { name: 'reasons of rejection' });
    await reasons.getByText(/^eventTime /).waitFor();
    await page.getByRole('table', { name: 'events by hour' }).getByRole('row').nth(1).waitFor();
    await page.getByText('receiving').waitFor();
    expect(reads.length - readsBefore).toBeLessThan(4);
    expect(await problemsOf(page, 'conversions')).toEqual([]);
    await page.getByRole('button', { name: 'Export reasons of rejection' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'As CSV' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toMatch(/^Reason,Events,.*\r\n"?eventTime .*,1,/);
    await page.getByLabel('Period').selectOption('168');
    await page.waitForURL(/hours=168/);
    await page.getByText('2 accepted, 1 rejected').waitFor();
    await page.getByRole('link', { name: markup }).click();
    await page.getByRole('heading', { name: markup }).waitFor();
    await untilShown(page);
    expect(await problemsOf(page, 'event-source')).toEqual([]);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('EventSourceCreated').first().waitFor();
    await goTo(page, '/console');
    const step = page.getByRole('listitem').filter({ hasText: 'Receive a conversion event' });
    await step.getByText('done').waitFor();
    expect(await page.title()).not.toBe('ran');
  }, 90_000);

  it('live events: as they come, by kind and advertiser in the address, each with its JSON', async () => {
    const { page, user } = await signedIn();
    const advertiserId = await advertiserOf(user);
    await goTo(page, '/console/events');
    const table = page.getByRole('table', { name: 'events' });
    await table.getByText('advertiser.created').waitFor();
    await user.person.put(`/api/v2/buyer/advertisers/${advertiserId}`, { name: 'Acme Boots' });
    await table.getByText('advertiser.updated').waitFor();
    expect(await table.getByRole('row').nth(1).textContent()).toContain('advertiser.updated');
    expect(await problemsOf(page, 'events')).toEqual([]);
    await table.getByRole('button', { name: 'advertiser.updated' }).click();
    await page.getByRole('dialog').getByText('"type": "advertiser.updated"').waitFor();
    await page.getByRole('dialog').getByText(`/advertisers/${advertiserId}?asOf=2`).first().waitFor();
    expect(page.url()).toContain('event=msg_');
    await page.keyboard.press('Escape');
    await page.getByLabel('Kind').selectOption('campaign.*');
    await page.waitForURL(/types=campaign/);
    await page.getByText('Nothing has happened yet.').waitFor();
    await user.person.post('/api/v2/buyer/advertisers', { name: 'Not shown' });
    await user.person.post('/api/v2/buyer/campaigns', { advertiserId, name: 'Winter sale' });
    await table.getByText('campaign.created').waitFor();
    expect(await table.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused at 1 events').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await table.getByRole('link').click();
    await page.getByRole('heading', { name: 'Winter sale' }).waitFor();
  });

  it('with the keyboard alone: the board, conversions by hour, live events, and the log of a webhook', async () => {
    const { page, user } = await signedIn();
    const { person } = user;
    const advertiserId = await advertiserOf(user);
    await person.post('/api/v2/buyer/adcp-agents', {
      name: 'Agent',
      url: agent.url,
      protocol: 'MCP',
      accountId: 'keyboard',
      auth: { type: 'bearer', token: agent.token },
    });
    await person.post(`/api/v2/buyer/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'shop' }],
    });
    const [, webhook = ''] = await webhookPages(user);
    await goTo(page, '/console');
    await page.getByRole('heading', { name: /^Welcome/ }).waitFor();

    await press(page, 'Syndication');
    await row(page, 'shop').waitFor();
    await tabTo(page, 'Send shop to Agent');
    await page.keyboard.press('Space');
    await row(page, 'shop').getByText('COMPLETED').waitFor();

    await press(page, 'Skip to the content');
    await press(page, 'Conversions');
    await page.getByText('0 accepted, 0 rejected').waitFor();
    await tabTo(page, 'Period');
    await page.keyboard.type('Last 7');
    await page.waitForURL(/hours=168/);
    await person.post('/api/v2/buyer/event-sources/shop/events', { advertiserId, events: [purchase('1')] });
    await page.getByText('1 accepted, 0 rejected').waitFor();

    await press(page, 'Skip to the content');
    await press(page, 'Live events');
    await page.getByRole('table', { name: 'events' }).getByText('advertiser.created').waitFor();
    await press(page, 'Pause');
    await page.getByText(/^Paused at \d+ events/).waitFor();
    await press(page, 'advertiser.created');
    await page.getByRole('dialog').getByText('"type": "advertiser.created"').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });

    await press(page, 'Skip to the content');
    await press(page, 'Webhooks');
    await page.getByRole('table', { name: 'webhooks' }).waitFor();
    await press(page, 'http://127.0.0.1:9/hook');
    await page.waitForURL(`**/console${webhook}`);
    await press(page, 'campaign.created');
    await page.getByRole('dialog').getByRole('group', { name: 'Attempt 1' }).waitFor();
    await press(page, 'Close');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  }, 60_000);
  return { agentUrl: () => agent.url };
};
