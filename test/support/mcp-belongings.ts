import { randomUUID } from 'node:crypto';
import type { ToolClient } from './mcp-clients.ts';

/** What an account has after each tool that creates something was called. */
export interface ToolBelongings {
  readonly advertiserId: number;
  readonly campaignId: string;
  readonly otherCampaignId: string;
  readonly creativeId: string;
  readonly libraryCreativeId: string;
  readonly sessionId: string;
  readonly variantId: string;
  readonly assetId: string;
  readonly engineId: number;
  readonly connectionId: string;
  readonly accountId: string;
  readonly agentId: string;
  readonly eventSourceId: string;
  readonly audienceId: string;
  readonly catalogId: string;
  readonly recordId: string;
  readonly taskId: string;
  readonly webhookSubscriptionId: string;
  readonly webhookDeliveryId: string;
}

export const newKey = (): string => randomUUID();

type Row = Readonly<Record<string, unknown>>;
export type Arguments = Readonly<Record<string, unknown>>;

/** @throws Error if the tool refuses */
export const done = async (client: ToolClient, name: string, input: Arguments): Promise<Row> => {
  const { isError, content } = await client.call(name, input);
  if (isError) throw new Error(`${name} refused: ${JSON.stringify(content)}`);
  return content;
};

export const written = (client: ToolClient, name: string, input: Arguments): Promise<Row> =>
  done(client, name, { ...input, idempotencyKey: newKey() });

const objectOf = async (result: Promise<Row>): Promise<Row> => (await result)['object'] as Row;
const idOf = async (result: Promise<Row>): Promise<string> => String((await objectOf(result))['id']);

/** @param prefix of the ids that the buyer chooses */
export const makeBelongings = async (client: ToolClient, prefix: string): Promise<ToolBelongings> => {
  const write = (name: string, input: Arguments): Promise<Row> => written(client, name, input);
  const advertiser = await objectOf(
    write('save_advertiser', { name: `${prefix} advertiser`, sandbox: true }),
  );
  const advertiserId = Number(advertiser['id']);
  const campaignId = await idOf(
    write('save_campaign', { advertiserId, name: 'Spring', budget: { total: 100 } }),
  );
  const otherCampaignId = await idOf(write('save_campaign', { advertiserId, name: 'Summer' }));
  const upload = { advertiserId, name: 'note.txt', mimeType: 'text/plain' };
  const reserved = await objectOf(write('upload_creative_asset', upload));
  const sent = await fetch(String(reserved['uploadUrl']), {
    method: String(reserved['method']),
    headers: reserved['headers'] as Record<string, string>,
    body: 'A note',
  });
  if (!sent.ok) throw new Error(`upload: ${sent.status}`);
  const assetId = String(reserved['assetId']);
  const slots = [{ slotId: 'main', kind: 'asset', assetId }];
  const creativeId = await idOf(write('save_creative', { campaignId, formatKind: 'custom', slots }));
  const inLibrary = { advertiserId, formatKind: 'image', role: 'evergreen' };
  const libraryCreativeId = await idOf(write('save_creative', inLibrary));
  const session = { campaignId, step: 'start', title: 'Session' };
  const sessionId = await idOf(write('save_creative_session', session));
  const started = await objectOf(
    done(client, 'get', { kind: 'creative_session', id: sessionId, campaignId }),
  );
  const variantId = String((started['variants'] as readonly Row[])[0]?.['id']);
  const engineId = 1;
  const connection = await objectOf(write('save_connection', { engineId, apiKey: `sbx_${prefix}` }));
  const agent = { name: 'Agent', url: 'https://agent.example.com/mcp', protocol: 'MCP', accountId: 'acct' };
  const agentId = await idOf(write('register_agent', agent));
  const eventSourceId = `${prefix}-shop`;
  await write('save_event_source', { advertiserId, event_sources: [{ event_source_id: eventSourceId }] });
  const audienceId = `${prefix}-buyers`;
  const audience = { audienceId, add: [{ hashedEmail: 'b'.repeat(64) }] };
  const accepted = await objectOf(write('save_audience', { advertiserId, audiences: [audience] }));
  const catalogId = `${prefix}-shoes`;
  const catalog = { catalog_id: catalogId, type: 'product', items: [{ id: '1' }] };
  await write('save_catalog', { advertiserId, catalogs: [catalog] });
  const toggle = { advertiserId, resourceId: eventSourceId, adcpAgentIds: [agentId], enabled: false };
  const { objects } = (await write('syndicate', toggle)) as { objects: { results: readonly Row[] } };
  const hook = { url: 'https://hooks.example.com/', eventTypes: ['*'] };
  const webhookSubscriptionId = await idOf(write('save_webhook_subscription', hook));
  const test = { webhookSubscriptionId, type: 'task.failed' };
  const delivery = await objectOf(write('test_webhook_subscription', test));
  return {
    advertiserId,
    campaignId,
    otherCampaignId,
    creativeId,
    libraryCreativeId,
    sessionId,
    variantId,
    assetId,
    engineId,
    connectionId: String(connection['id']),
    accountId: (connection['accounts'] as readonly Row[])[0]?.['id'] as string,
    agentId,
    eventSourceId,
    audienceId,
    catalogId,
    recordId: String(objects.results[0]?.['id']),
    taskId: String(accepted['taskId']),
    webhookSubscriptionId,
    webhookDeliveryId: String(delivery['deliveryId']),
  };
};

/** Ids that no account ever had. */
export const neverIds: ToolBelongings = {
  advertiserId: 2_147_483_647,
  campaignId: `cmp_${'0'.repeat(32)}`,
  otherCampaignId: `cmp_${'1'.repeat(32)}`,
  creativeId: `cre_${'0'.repeat(32)}`,
  libraryCreativeId: `cre_${'1'.repeat(32)}`,
  sessionId: `ses_${'0'.repeat(32)}`,
  variantId: `var_${'0'.repeat(32)}`,
  assetId: `ast_${'0'.repeat(32)}`,
  engineId: 1,
  connectionId: `con_${'0'.repeat(32)}`,
  accountId: 'sandbox-1',
  agentId: `agt_${'0'.repeat(32)}`,
  eventSourceId: 'never-shop',
  audienceId: 'never-buyers',
  catalogId: 'never-shoes',
  recordId: `syn_${'0'.repeat(32)}`,
  taskId: '00000000-0000-4000-8000-000000000000',
  webhookSubscriptionId: `whs_${'0'.repeat(32)}`,
  webhookDeliveryId: `dlv_${'0'.repeat(32)}`,
};

export type ToolCallOf = readonly [tool: string, input: Arguments];

/** Each kind of object by its id, with what places it. */
const namedObjects = (own: ToolBelongings): readonly Arguments[] => {
  const { advertiserId, campaignId, engineId, webhookSubscriptionId } = own;
  return [
    { kind: 'advertiser', id: advertiserId },
    { kind: 'campaign', id: campaignId },
    { kind: 'creative', id: own.creativeId },
    { kind: 'creative_session', id: own.sessionId, campaignId },
    { kind: 'connection', id: own.connectionId, engineId },
    { kind: 'asset', id: own.assetId, advertiserId },
    { kind: 'event_source', id: own.eventSourceId },
    { kind: 'event_source', id: own.eventSourceId, advertiserId },
    { kind: 'audience', id: own.audienceId, advertiserId },
    { kind: 'catalog', id: own.catalogId, advertiserId },
    { kind: 'syndication', id: own.recordId, advertiserId },
    { kind: 'adcp_agent', id: own.agentId },
    { kind: 'task', id: own.taskId },
    { kind: 'webhook_subscription', id: webhookSubscriptionId },
    { kind: 'webhook_delivery', id: own.webhookDeliveryId, webhookSubscriptionId },
  ];
};

const withoutHistory = new Set(['webhook_delivery']);

/** Lists that belong to an object. */
const listsBelow = ({
  advertiserId,
  campaignId,
  engineId,
  webhookSubscriptionId,
}: ToolBelongings): readonly Arguments[] => [
  { kind: 'campaign', filters: { advertiserId } },
  { kind: 'creative', filters: { campaignId } },
  { kind: 'creative', filters: { advertiserId } },
  { kind: 'creative_session', filters: { campaignId } },
  { kind: 'connection', filters: { engineId } },
  { kind: 'asset', filters: { advertiserId } },
  { kind: 'event_source', filters: { advertiserId } },
  { kind: 'audience', filters: { advertiserId } },
  { kind: 'catalog', filters: { advertiserId } },
  { kind: 'syndication', filters: { advertiserId } },
  { kind: 'webhook_delivery', filters: { webhookSubscriptionId } },
];

/** Calls of every tool that names an object. Those that archive only ask for a confirmation. */
export const callsNaming = (own: ToolBelongings): readonly ToolCallOf[] => {
  const { advertiserId, campaignId, otherCampaignId, creativeId, sessionId, variantId } = own;
  const { engineId, connectionId, accountId, eventSourceId, agentId, webhookSubscriptionId } = own;
  const calls: ToolCallOf[] = [
    ['save_advertiser', { advertiserId, description: 'Changed' }],
    ['save_campaign', { campaignId, brief: 'Changed' }],
    ['save_campaign', { advertiserId, name: 'Autumn' }],
    ['save_creative', { campaignId, creativeId, message: 'Changed' }],
    ['save_creative', { campaignId, formatKind: 'image' }],
    ['save_creative', { advertiserId, formatKind: 'image' }],
    ['duplicate_creative', { campaignId, creativeId }],
    ['attach_creative', { advertiserId, creativeId, campaignId: otherCampaignId }],
    ['detach_creative', { advertiserId, creativeId, campaignId: otherCampaignId }],
    ['submit_creative', { creativeId, sellerIds: [1] }],
    ['review_creative', { creativeId, sellerId: 1, status: 'rejected', rejectionReason: 'No' }],
    ['save_creative_session', { campaignId, step: 'start', title: 'Another' }],
    ['save_creative_session', { campaignId, step: 'refine', sessionId, variantId, feedback: 'Warmer' }],
    ['save_creative_session', { campaignId, step: 'evaluate', sessionId, stage: 'first' }],
    ['save_creative_session', { campaignId, step: 'finalize', sessionId, variantId }],
    ['upload_creative_asset', { advertiserId, name: 'b.txt', mimeType: 'text/plain' }],
    ['save_event_source', { advertiserId, event_sources: [{ event_source_id: eventSourceId }] }],
    ['save_audience', { advertiserId, audiences: [{ audienceId: own.audienceId }] }],
    [
      'save_catalog',
      { advertiserId, catalogs: [{ catalog_id: own.catalogId, type: 'product', items: [{}] }] },
    ],
    ['log_conversions', { eventSourceId, events: [{ eventId: 'e', eventTime: new Date().toISOString() }] }],
    ['syndicate', { advertiserId, resourceId: eventSourceId, adcpAgentIds: [agentId], enabled: false }],
    ['select_connection_account', { engineId, connectionId, accountId }],
    ['map_connection_account', { engineId, connectionId, accountId, advertiserId }],
    ['save_webhook_subscription', { webhookSubscriptionId, description: 'Changed' }],
    ['test_webhook_subscription', { webhookSubscriptionId, type: 'task.failed' }],
    ['request_proposals', { campaignId, sellerIds: [1] }],
    ['launch_campaign', { campaignId }],
    ['pause_campaign', { campaignId }],
    ['reactivate_campaign', { campaignId }],
    ['archive', { kind: 'advertiser', id: advertiserId }],
    ['archive', { kind: 'campaign', id: campaignId }],
    ['archive', { kind: 'creative', id: creativeId, advertiserId }],
    ['archive', { kind: 'asset', id: own.assetId, advertiserId }],
    ['archive', { kind: 'connection', id: connectionId, engineId }],
    ['archive', { kind: 'adcp_agent', id: agentId }],
    ['archive', { kind: 'webhook_subscription', id: webhookSubscriptionId }],
    ['restore', { kind: 'advertiser', id: advertiserId }],
  ];
  const named = namedObjects(own);
  const inHistory = named.filter(({ kind }) => !withoutHistory.has(String(kind)));
  return [
    ...named.map((one): ToolCallOf => ['get', one]),
    ...inHistory.flatMap((one): readonly ToolCallOf[] => [
      ['history', one],
      ['diff', { ...one, from: 0 }],
      ['explain', one],
    ]),
    ...listsBelow(own).map((one): ToolCallOf => ['search', one]),
    ...calls.map(([name, input]): ToolCallOf => [name, { ...input, idempotencyKey: newKey() }]),
  ];
};
