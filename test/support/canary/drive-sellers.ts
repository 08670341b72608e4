import { addSeller, connectSeller } from '../../../command/sellers/commands.ts';
import type { ProposalRequestResource } from '../../../domain/proposals/resource.ts';
import { systemClock as clock } from '../../../shared/async/clock.ts';
import { untilDefinite } from '../api-client.ts';
import type { TestAccount } from '../running-service.ts';
import { startSellers } from '../sellers.ts';
import { until } from '../until.ts';
import { newSecret, type CanaryRun } from './canary-run.ts';
import { echoingWays, startEchoingAgent } from './echoing-agent.ts';

/** Tokens of sellers' agents: of one that answers, and of many that fail and echo the token. */
export const driveSellers = async (
  { service, track, recordAnswer, searchStores }: CanaryRun,
  { api }: TestAccount,
): Promise<void> => {
  const [sellers, echoing] = await Promise.all([startSellers(), startEchoingAgent()]);
  try {
    const { store, secrets } = service.installation;
    const sellerIds: number[] = [];
    for (const url of [sellers.url('works'), ...echoingWays.map((way) => echoing.urlOf(way))]) {
      const { sellerId } = await addSeller({ store, clock }, { name: `Seller at ${url}`, channels: [] });
      const agent = () => ({ url, protocol: 'MCP', token: track(newSecret('seller-')) }) as const;
      // Connected twice: the first token is deleted.
      await connectSeller({ store, secrets, clock }, sellerId, agent());
      await connectSeller({ store, secrets, clock }, sellerId, agent());
      sellerIds.push(sellerId);
    }
    const made = async (path: string, body: object) =>
      (await untilDefinite(() => api.post<{ id: string | number }>(path, body))).body.data.id;
    const advertiserId = await made('/advertisers', { name: 'Proposals' });
    const path = `/campaigns/${await made('/campaigns', { advertiserId, name: 'Spring' })}/proposal-requests`;
    const asked = await untilDefinite(() => api.post<ProposalRequestResource>(path, { sellerIds }));
    recordAnswer(asked.text);
    const { executionId } = asked.body.data;
    await until(async () => {
      await searchStores();
      const { text, body } = await api.get<ProposalRequestResource>(`${path}/${executionId}`);
      recordAnswer(text);
      return body.data.status !== 'running';
    }, 120_000);
    for (const end of ['/history', '/explain', '/diff?from=0']) {
      recordAnswer((await api.get(`${path}/${executionId}${end}`)).text);
    }
    recordAnswer((await api.get('/sellers?take=200')).text);
  } finally {
    await Promise.all([sellers.stop(), echoing.stop()]);
  }
};
