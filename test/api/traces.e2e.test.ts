import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AgentResource } from '../../domain/agents/resource.ts';
import { createAccount, startService, type ServiceProcess } from '../bench/service-process.ts';
import { apiOf } from '../support/api-client.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { startProgram, type Program } from '../support/program.ts';
import { createTestStores, type TestStores } from '../support/test-stores.ts';
import { until } from '../support/until.ts';
import { tracePicture } from '../support/trace-picture.ts';
import { startTraceReceiver, type ReceivedSpan, type TraceReceiver } from '../support/trace-receiver.ts';

/** One syndicated change as one trace, over the process that took the request and the one that called the agent. */

/** `npm run docs:trace` draws it. */
const PICTURE = process.env['TRACE_PICTURE'];

let receiver: TraceReceiver;
let stores: TestStores;
let agent: SandboxAgent;
let worker: Program;
let service: ServiceProcess;
let apiKey: string;
beforeAll(async () => {
  [receiver, stores, agent] = await Promise.all([
    startTraceReceiver(),
    createTestStores(),
    startSandboxAgent(),
  ]);
  const settings = {
    ...stores.settings,
    NODE_ENV: 'test',
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  worker = startProgram({ ...settings, ROLES: 'projector,worker', PORT: '0', LOG_LEVEL: 'debug' });
  await worker.until(/"listening"/);
  service = await startService({ ...settings, ROLES: 'api' });
  ({ apiKey } = await createAccount(settings));
});
afterAll(async () => {
  await Promise.all([service.stop(), worker.end('SIGTERM')]);
  await Promise.all([agent.stop(), receiver.stop(), stores.drop()]);
});

const parentsOf = (span: ReceivedSpan): readonly string[] => {
  const parent = receiver.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [] : [parent.name, ...parentsOf(parent)];
};

it('leads from the request by its event and its work to the call of the agent', async () => {
  const api = apiOf(`http://127.0.0.1:${service.port}`, { Authorization: `Bearer ${apiKey}` });
  const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  await api.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: [{ event_source_id: 'web' }],
  });
  const registered = await api.post<AgentResource>('/adcp-agents', {
    name: 'Sandbox',
    url: agent.url,
    protocol: 'MCP',
    auth: { type: 'bearer', token: agent.token },
    accountId: 'acct',
  });
  const on = { resourceId: 'web', adcpAgentIds: [registered.body.data.id], enabled: true };
  const answer = await api.post(`/advertisers/${id}/syndicate`, on);
  expect(answer.status).toBe(201);
  const requestId = answer.headers.get('x-request-id');
  const root = (): ReceivedSpan | undefined =>
    receiver.spans.find(({ attributes }) => attributes['exchange.request_id'] === requestId);
  const inTrace = (): readonly ReceivedSpan[] =>
    receiver.spans.filter(({ traceId }) => traceId === root()?.traceId);
  /** A request to the agent, once the spans around it have ended. */
  const post = (): ReceivedSpan | undefined =>
    inTrace().find((span) => span.name === 'POST' && parentsOf(span).includes('append syndication'));
  await until(async () => post() !== undefined, 30_000);

  expect(root()).toMatchObject({
    name: 'POST /api/v2/buyer/advertisers/{advertiserId}/syndicate',
    kind: 2,
    attributes: { 'http.response.status_code': expect.anything() },
  });
  const call = post();
  expect(call && parentsOf(call)).toEqual([
    'agent sync_event_sources',
    'work syndication',
    'project syndication',
    'append syndication',
    root()?.name,
  ]);
  const processes = new Set(inTrace().map(({ resource }) => resource['service.instance.id']));
  expect(processes.size).toBe(2);
  expect(new Set(inTrace().map(({ resource }) => resource['service.name']))).toEqual(
    new Set(['buyer-exchange']),
  );
  // The log of the worker leads to the trace, and to the request in the audit log.
  const [line = ''] = /^.*"work":"syndication".*"work was run".*$/m.exec(worker.output()) ?? [];
  expect(JSON.parse(line)).toMatchObject({ traceId: root()?.traceId, correlationId: requestId });
  // Spans hold names, routes, numbers and hosts.
  for (const secret of [apiKey, agent.token, 'Acme']) expect(receiver.text()).not.toContain(secret);
  const from = root();
  if (PICTURE !== undefined && from !== undefined) writeFileSync(PICTURE, tracePicture(inTrace(), from));
});
