import { SYNDICATION, type Engine } from './scenario-buying.ts';
import type { Send } from './exchanges.ts';
import type { Scenario } from './scenario.ts';

type Values = Readonly<Record<string, string | number>>;

export interface MadeResources {
  readonly advertiserId: number;
  readonly campaignId: string;
  readonly creativeId: string;
  readonly assetId: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly executionId: string;
  readonly agentId: string;
  readonly recordId: string;
  readonly engine: Engine;
  readonly subscriptionId: string;
  readonly apiKeyId: string;
  readonly userId: string;
  readonly invitationId: string;
  readonly originId: string;
  readonly grantId: string;
  readonly signInSessionId: string;
  readonly catalogId: string;
}

interface Kind {
  /** In operation ids. */
  readonly name: string;
  readonly path?: Values;
  readonly query?: Values;
  /** A member that events of it have changed or set. */
  readonly member: string;
}

const kindsOf = (made: MadeResources): readonly Kind[] => {
  const ofAdvertiser = { id: made.advertiserId };
  const ofCampaign = { id: made.campaignId };
  const { engine } = made;
  return [
    { name: 'Advertiser', path: ofAdvertiser, member: 'description' },
    { name: 'Campaign', path: ofCampaign, member: 'budget' },
    { name: 'Creative', path: { cid: made.creativeId }, member: 'copy' },
    { name: 'CreativeSession', path: { ...ofCampaign, sid: made.sessionId }, member: 'status' },
    { name: 'Asset', path: { ...ofAdvertiser, assetId: made.assetId }, member: 'name' },
    { name: 'EventSource', path: { key: 'website' }, query: ofSource(made), member: 'name' },
    { name: 'Audience', path: { ...ofAdvertiser, audienceId: 'customers' }, member: 'uploadedCount' },
    { name: 'Catalog', path: { ...ofAdvertiser, catalogId: made.catalogId }, member: 'itemCount' },
    { name: 'Agent', path: { id: made.agentId }, member: 'name' },
    {
      name: 'SyndicationRecord',
      path: { id: made.advertiserId, recordId: made.recordId },
      member: 'status',
    },
    { name: 'Connection', path: { id: engine.id, connectionId: engine.connectionId }, member: 'status' },
    { name: 'ProposalRequest', path: { ...ofCampaign, executionId: made.executionId }, member: 'status' },
    { name: 'Task', path: { taskId: made.taskId }, member: 'status' },
    { name: 'WebhookSubscription', path: { id: made.subscriptionId }, member: 'eventTypes' },
    { name: 'Account', member: 'name' },
    { name: 'ApiKey', path: { id: made.apiKeyId }, member: 'name' },
    { name: 'User', path: { id: made.userId }, member: 'role' },
    { name: 'Invitation', path: { id: made.invitationId }, member: 'status' },
    { name: 'BrowserOrigin', path: { id: made.originId }, member: 'origin' },
    { name: 'ConnectedApp', path: { grantId: made.grantId }, member: 'scopes' },
    { name: 'Session', path: { id: made.signInSessionId }, member: 'method' },
  ];
};

const ofSource = ({ advertiserId }: MadeResources): Values => ({ advertiserId });

/** History, difference and explanation of every kind of resource. */
export const readHistory = async ({ call }: Scenario, made: MadeResources): Promise<void> => {
  for (const { name, path, query = {}, member } of kindsOf(made)) {
    const at = path === undefined ? {} : { path };
    await call(`get${name}History`, { ...at, query: { ...query, take: 2 } });
    await call(`get${name}Difference`, { ...at, query: { ...query, from: '1' } });
    await call(`explain${name}`, { ...at, query: { ...query, path: `/${member}` } });
  }
};

interface Cause {
  readonly status?: string;
  readonly followedBy: readonly Cause[];
}

export const readAuditLog = async ({ until }: Scenario, { campaignId }: MadeResources): Promise<void> => {
  const query = { resourceTypes: 'CAMPAIGN', resourceId: campaignId, take: 2 };
  await until<{ logs: readonly unknown[] }>('listAuditLogs', { query }, ({ logs }) => logs.length === 2);
  await until<{ causes: readonly Cause[] }>(
    'getRequest',
    { path: { requestId: SYNDICATION } },
    ({ causes }) => causes[0]?.followedBy[0]?.status === 'COMPLETED',
  );
};

const anyone: Send = (url, init) => fetch(url, init);

/** What anybody may read. */
export const readDocuments = async ({ call, baseUrl }: Scenario): Promise<void> => {
  const read = (operationId: string, path?: Values) =>
    call(operationId, { as: anyone, ...(path !== undefined && { path }) });
  await read('getConsole');
  const page = await (await fetch(`${baseUrl}/console`)).text();
  await read('getConsoleFile', { file: /\/console\/assets\/([\w.-]+)/.exec(page)?.[1] ?? '' });
  await read('getApiReference');
  const reference = await (await fetch(`${baseUrl}/docs`)).text();
  await read('getApiReferenceScript', { file: /\/docs\/assets\/([\w.-]+)/.exec(reference)?.[1] ?? '' });
  await read('getGuide', { file: 'campaigns.md' });
  for (const name of ['Live', 'Health', 'Ready', 'Metrics', 'FrontPage', 'OpenApi', 'OpenApiYaml'])
    await read(`get${name}`);
  for (const name of ['BuyerOpenApiYaml', 'Skill', 'BuyerSkill', 'Llms']) await read(`get${name}`);
  for (const name of ['', 'Buyer', 'Mcp', 'McpV3', 'McpAdcp']) await read(`get${name}ProtectedResource`);
};

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'planner', version: '1.0.0' },
  },
};

const getStatus = {
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'get_status', arguments: {} },
};

const getCapabilities = {
  ...getStatus,
  params: { name: 'get_adcp_capabilities', arguments: {} },
};

/** A session of MCP at both of its paths, and a call of the AdCP agent, which has no sessions. */
export const useTools = async ({ call, baseUrl }: Scenario, send: Send): Promise<void> => {
  for (const at of ['Mcp', 'McpV3']) {
    let session = '';
    const keeping: Send = async (url, init) => {
      const response = await send(url, init);
      session = response.headers.get('mcp-session-id') ?? session;
      return response;
    };
    const headers = { Accept: 'application/json, text/event-stream' };
    const path = at === 'Mcp' ? '/mcp' : '/mcp/v3';
    const body = JSON.stringify(initialize);
    const opened = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body };
    await (await keeping(baseUrl + path, opened)).text();
    const ofSession = {
      headers: { ...headers, 'Mcp-Session-Id': session, 'Mcp-Protocol-Version': '2025-11-25' },
    };
    await call(`call${at}`, { as: send, ...ofSession, body: getStatus });
    await call(`stream${at}`, { as: send, ...ofSession, blocks: 0 });
    await call(`end${at}Session`, { as: send, ...ofSession });
  }
  const headers = { Accept: 'application/json, text/event-stream' };
  await call('callMcpAdcp', { as: send, headers, body: getCapabilities });
};
