import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { addSeller, connectSeller } from '../../command/sellers/commands.ts';
import type { ProposalRequestResource } from '../../domain/proposals/resource.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { connectV2, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSellers, type TestSellers } from '../support/sellers.ts';
import { until } from '../support/until.ts';

/** An agent asks sellers for proposals and reads what campaigns delivered. */

let service: RunningService;
let sellers: TestSellers;
const sellerIds: number[] = [];
beforeAll(async () => {
  const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true', PROPOSAL_SELLER_MS: '5000' };
  [service, sellers] = await Promise.all([startRunningService(settings), startSellers()]);
  const { store, secrets } = service.installation;
  for (const how of ['works', 'slow_1500']) {
    const { sellerId } = await addSeller({ store, clock }, { name: how, channels: [] });
    await connectSeller({ store, secrets, clock }, sellerId, { url: sellers.url(how), protocol: 'MCP' });
    sellerIds.push(sellerId);
  }
});
afterAll(async () => {
  await Promise.all([service.stop(), sellers.stop()]);
});

const open = async (): Promise<{ readonly client: ToolClient; readonly campaignId: string }> => {
  const { api, apiKey } = await service.openAccount();
  const { id: advertiserId } = (await api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data;
  const campaign = await api.post<{ id: string }>('/campaigns', { advertiserId, name: 'Spring' });
  const client = await connectV2('legacy')(`${service.baseUrl}/mcp/v3`, apiKey);
  return { client, campaignId: campaign.body.data.id };
};

it('the same key is polled until the round has ended; another round waits for it', async () => {
  const { client, campaignId } = await open();
  const ask = async (idempotencyKey: string, more: object = {}) =>
    client.call('request_proposals', { campaignId, idempotencyKey, ...more });
  const first = await ask('round-1-of-a-test', { sellerIds });
  expect(first.content).toMatchObject({
    status: 'running',
    summary: { sellersRequested: 2 },
    poll: { tool: 'request_proposals' },
  });
  const { executionId } = first.content;
  const other = await ask('round-2-of-a-test', { sellerIds });
  expect(other).toMatchObject({ isError: true, content: { code: 'CONFLICT', details: { executionId } } });
  let last: typeof first = first;
  await until(async () => {
    last = await ask('round-1-of-a-test');
    return last.content['status'] !== 'running';
  }, 20_000);
  expect(last.content).toMatchObject({
    executionId,
    page: { returned: expect.any(Number), truncated: false },
  });
  const { perSeller } = last.content as unknown as ProposalRequestResource;
  expect(perSeller.find(({ sellerName }) => sellerName === 'works')?.products).not.toEqual([]);
  const page = await ask('round-1-of-a-test', { limit: 1 });
  expect(page.content['page']).toMatchObject({ returned: 1 });
  const read = await client.call('get', { kind: 'proposal_request', id: executionId, campaignId });
  expect(read.content).toMatchObject({ object: { executionId } });
  await client.close();
});

it('a person confirms that all sellers are asked', async () => {
  const { client, campaignId } = await open();
  const asked = { campaignId, idempotencyKey: 'round-of-all-sellers' };
  const pending = await client.call('request_proposals', asked);
  expect(pending.content).toMatchObject({
    action: 'pending_confirmation',
    confirmation: { tool: 'request_proposals', summary: expect.stringContaining('Spring') },
  });
  const { confirmationUid } = pending.content['confirmation'] as { readonly confirmationUid: string };
  const started = await client.call('request_proposals', { ...asked, confirm: true, confirmationUid });
  expect(started.content).toMatchObject({ status: expect.stringMatching(/running|partial|complete/) });
  // A poll names the round, and nothing else.
  expect((await client.call('request_proposals', asked)).content['executionId']).toBe(
    started.content['executionId'],
  );
  await client.close();
});

it('delivery: nothing was reported, so no metric is there; a range has at most 90 days', async () => {
  const { client } = await open();
  const report = await client.call('get_delivery', { dimensions: ['date'], range: { lifetime: true } });
  expect(report.content).toMatchObject({
    rows: [],
    totals: { rowsIncluded: 0, metrics: {}, currency: null },
  });
  const refused = await client.call('get_delivery', {
    range: { startDate: '2026-01-01', endDate: '2026-04-01' },
  });
  expect(refused).toMatchObject({ isError: true, content: { code: 'VALIDATION_ERROR', field: 'range' } });
  const other = await client.call('get_delivery', { cursor: 'bmV2ZXI' });
  expect(other).toMatchObject({ isError: true, content: { code: 'VALIDATION_ERROR', field: 'cursor' } });
  await client.close();
});
