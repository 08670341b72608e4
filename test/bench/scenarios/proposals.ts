import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { readConfig } from '../../../app/config.ts';
import { openInstallation } from '../../../app/installation.ts';
import { createLog } from '../../../app/log.ts';
import { addSeller, connectSeller } from '../../../command/sellers/commands.ts';
import type { ProposalRequestResource } from '../../../domain/proposals/resource.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { systemClock as clock } from '../../../shared/async/clock.ts';
import { apiOf, type Api } from '../../support/api-client.ts';
import { startChildServer } from '../child-server.ts';
import { alternate, lineOf } from '../measure.ts';
import { createAccount, startService, type Environment } from '../service-process.ts';
import { authorized } from './advertiser-requests.ts';
import type { Scenario } from './scenario.ts';

const SELLERS = 50;
const ANSWER_MS = 1_000;
const POLL_MS = 20;

/** A proposal request to 50 sellers, from the request to its end, against 50 clients that ask the same sellers at once. */
export const proposalRounds: Scenario = async (bench) => {
  const agent = await startChildServer('bare-agent.js', { ANSWER_MS: String(ANSWER_MS) });
  bench.atEnd(() => agent.stop());
  const agentUrl = `http://127.0.0.1:${agent.port}/mcp`;
  const { url } = await bench.createDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-proposals-'));
  bench.atEnd(() => rm(dataDir, { recursive: true, force: true }));
  const environment = {
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    NODE_ENV: 'test',
    OUTBOUND_ALLOW_LOOPBACK: 'true',
  };
  const service = await startService(environment);
  bench.atEnd(() => service.kill());
  const headers = authorized(await createAccount(environment));
  const api = apiOf(`http://127.0.0.1:${service.port}`, headers);
  const sellerIds = await connectSellers(environment, agentUrl);
  const advertiser = await api.post<{ id: number }>('/advertisers', { name: 'Bench' });
  const body = { advertiserId: advertiser.body.data.id, name: 'Spring', brief: 'Reach gardeners' };
  const { id } = (await api.post<{ id: string }>('/campaigns', body)).body.data;
  const path = `/campaigns/${id}/proposal-requests`;
  return [
    lineOf({
      name: `proposal request, ${SELLERS} sellers that take ${ANSWER_MS / 1_000} s`,
      unit: 's',
      ...(await alternate(
        bench.quick ? 1 : bench.rounds,
        () => secondsOf(() => round(api, path, sellerIds)),
        () => secondsOf(() => Promise.all(Array.from({ length: SELLERS }, () => askDirectly(agentUrl)))),
        1,
      )),
      baselineName: `${SELLERS} bare MCP clients at once`,
      goal: 2,
      atMost: true,
    }),
  ];
};

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
};

const connectSellers = async (environment: Environment, url: string): Promise<readonly number[]> => {
  const installation = await openInstallation(readConfig(environment), 'bench', createLog('silent'));
  try {
    const { store, secrets } = installation;
    const sellerIds: number[] = [];
    for (let n = 0; n < SELLERS; n++) {
      const { sellerId } = await addSeller({ store, clock }, { name: `Seller ${n}`, channels: [] });
      await connectSeller({ store, secrets, clock }, sellerId, { url, protocol: 'MCP' });
      sellerIds.push(sellerId);
    }
    return sellerIds;
  } finally {
    await installation.close();
  }
};

const round = async (api: Api, path: string, sellerIds: readonly number[]): Promise<void> => {
  const started = await api.post<ProposalRequestResource>(path, { sellerIds });
  if (started.status !== 202) throw new Error(`the request was refused: ${started.text}`);
  const { executionId } = started.body.data;
  for (;;) {
    const { status } = (await api.get<ProposalRequestResource>(`${path}/${executionId}?limit=1`)).body.data;
    if (status === 'complete') return;
    if (status !== 'running') throw new Error(`the execution ended as ${status}`);
    await sleep(POLL_MS);
  }
};

const askDirectly = async (url: string): Promise<void> => {
  const client = new Client({ name: 'bare', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.listTools();
  await client.callTool({
    name: 'get_products',
    arguments: { buying_mode: 'brief', brief: 'Reach gardeners' },
  });
  await client.close();
};
