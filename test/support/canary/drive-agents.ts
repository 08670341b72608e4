import type { AdvertiserResource } from '../../../domain/advertisers/resource.ts';
import type { SyndicationResource } from '../../../domain/syndication/resource.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { untilDefinite } from '../api-client.ts';
import type { TestAccount } from '../running-service.ts';
import { startSandboxAgent } from '../sandbox-agent.ts';
import { until } from '../until.ts';
import { newSecret, type CanaryRun } from './canary-run.ts';
import { echoingWays, startEchoingAgent, type EchoingAgent } from './echoing-agent.ts';

/** Bearer tokens of one agent that works and of many that fail and echo the token. */
export const driveAgents = async (run: CanaryRun, account: TestAccount): Promise<void> => {
  const sandbox = await startSandboxAgent(run.track(newSecret('sandbox-')));
  const echoing = await startEchoingAgent();
  try {
    await badRegistrations(run, account, sandbox.url);
    const { register, advertiser } = await preparedFor(run, account);
    const keyed = { 'Idempotency-Key': 'agent-registered-once-and-repeated' };
    const works = await register(sandbox.url, { token: sandbox.token }, keyed);
    await register(sandbox.url, { token: sandbox.token }, keyed);
    const ofA2a = await register(sandbox.a2aUrl, { token: sandbox.token, protocol: 'A2A' });
    const agents = [works, ofA2a];
    for (const way of echoingWays) agents.push(await register(echoing.urlOf(way)));
    for (const way of echoingWays.slice(0, 4)) {
      agents.push(await register(echoing.urlOf(way), { protocol: 'A2A' }));
    }
    await syndicate(run, account, { advertiser, agents, echoing });
  } finally {
    await sandbox.stop();
    await echoing.stop();
  }
};

const preparedFor = async ({ track, recordAnswer }: CanaryRun, { api }: TestAccount) => {
  const once = { 'Idempotency-Key': 'advertiser-of-agents' };
  const made = await untilDefinite(() =>
    api.post<AdvertiserResource>('/advertisers', { name: 'Agents' }, once),
  );
  const { id } = made.body.data;
  const sources = { account: { account_id: String(id) }, event_sources: [{ event_source_id: 'web' }] };
  await untilDefinite(() => api.post(`/advertisers/${id}/event-sources/sync`, sources));
  return {
    advertiser: String(id),
    register: async (
      url: string,
      { token = newSecret('agent-'), protocol = 'MCP' }: { token?: string; protocol?: string } = {},
      headers: Readonly<Record<string, string>> = { 'Idempotency-Key': newSecret() },
    ): Promise<string> => {
      const auth = { type: 'bearer', token: track(token) };
      const body = { name: 'Agent', url, protocol, auth, accountId: 'acct' };
      const answer = await untilDefinite(() => api.post<{ id: string }>('/adcp-agents', body, headers));
      recordAnswer(answer.text);
      if (answer.status !== 201) throw new Error(`not registered: ${answer.text}`);
      return answer.body.data.id;
    },
  };
};

/** Tokens that are rejected by the service or by the agent, are sent to wrong places, or are sent during an outage. */
const badRegistrations = async (
  { track, recordAnswer, withFailingStore, withoutTable }: CanaryRun,
  { api }: TestAccount,
  url: string,
): Promise<void> => {
  const send = async (auth: unknown, more: object = {}): Promise<void> => {
    const body = { name: 'Agent', url, protocol: 'MCP', auth, ...more };
    recordAnswer((await api.post('/adcp-agents', body)).text);
    recordAnswer((await api.post('/adcp-agents', body, { 'Idempotency-Key': 'agent-that-is-refused' })).text);
  };
  const bearer = () => ({ type: 'bearer', token: track(newSecret('agent-')) });
  // The sandbox rejects it.
  await send(bearer());
  await send({ type: 'bearer', token: `x ${track(newSecret())}` });
  await send({ type: 'bearer', token: [track(newSecret())] });
  await send({ type: 'bearer', token: { [track(newSecret())]: 1 } });
  await send({ type: track(newSecret()), token: track(newSecret()) });
  await send(track(newSecret()));
  await send(bearer(), { protocol: 'SOAP' });
  await send(bearer(), { url: `https://user:${track(newSecret())}@agent.example.com/` });
  recordAnswer(
    (await api.post('/adcp-agents', `{"auth":{"type":"bearer","token":"${track(newSecret())}`)).text,
  );
  await withFailingStore(() => send(bearer(), { url: 'https://agent.example.com/mcp' }));
  await withoutTable('secrets', () => send(bearer(), { url: 'https://agent.example.com/mcp' }));
};

interface SyndicationTarget {
  readonly advertiser: string;
  /** The first two work. */
  readonly agents: readonly string[];
  readonly echoing: EchoingAgent;
}

const WAIT_MS = 120_000;

const syndicate = async (
  { recordAnswer, searchStores }: CanaryRun,
  { api }: TestAccount,
  { advertiser, agents, echoing }: SyndicationTarget,
): Promise<void> => {
  const toggle = async (enabled: boolean): Promise<void> => {
    const body = { resourceId: 'web', adcpAgentIds: agents, enabled };
    const once = { 'Idempotency-Key': `syndicated-once-${enabled}` };
    const { status, text } = await untilDefinite(() =>
      api.post(`/advertisers/${advertiser}/syndicate`, body, once),
    );
    recordAnswer(text);
    if (status !== 201) throw new Error(`not syndicated: ${text}`);
  };
  const records = async (): Promise<readonly SyndicationResource[]> => {
    const path = `/advertisers/${advertiser}/syndication-status?limit=100`;
    const { text, body } = await untilDefinite(() => api.get<{ items: SyndicationResource[] }>(path));
    recordAnswer(text);
    return body.data.items;
  };
  const asked = { ...echoing.calls };
  await toggle(true);
  // A job that waits for its next attempt contains the error of the previous one.
  await until(async () => {
    await searchStores();
    await sleep(100);
    const taken = (await records()).filter(({ status }) => status === 'COMPLETED');
    const isCalled = echoingWays.every((way) => (echoing.calls[way] ?? 0) > (asked[way] ?? 0));
    return isCalled && agents.slice(0, 2).every((id) => taken.some(({ adcpAgentId }) => adcpAgentId === id));
  }, WAIT_MS);
  for (let looks = 0; looks < 10; looks += 1) {
    await sleep(200);
    await searchStores();
  }
  for (const { id, adcpAgentId } of await records()) {
    for (const path of [
      `/advertisers/${advertiser}/syndication-status/${id}`,
      `/adcp-agents/${adcpAgentId}`,
    ]) {
      for (const end of ['', '/history', '/explain', '/diff?from=0']) {
        recordAnswer((await api.get(path + end)).text);
      }
    }
  }
  recordAnswer((await api.get('/audit-logs?take=500')).text);
  await toggle(false);
  await sleep(500);
  await searchStores();
  // Refused while the agent may still have a copy.
  for (const id of agents) recordAnswer((await api.delete(`/adcp-agents/${id}`)).text);
  await searchStores();
};
