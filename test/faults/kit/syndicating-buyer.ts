import { sleep } from '../../../shared/async/backoff.ts';
import type { SyndicationResource } from '../../../domain/syndication/resource.ts';
import type { Api } from '../../support/api-client.ts';
import type { SandboxAgent } from '../../support/sandbox-agent.ts';
import type { Random } from './random.ts';

/** A buyer that switches the syndication of its resources on and off, and changes its audiences. */

const SOURCES = ['s1', 's2'] as const;
const CATALOGS = ['c1', 'c2'] as const;
const AUDIENCES = ['a1', 'a2'] as const;
const RESOURCES = [...SOURCES, ...CATALOGS, ...AUDIENCES];
const PEOPLE = 1_500;
/** The maximum of one call in the specification. */
const SYNC_MAX = 50;

export interface Buyer {
  readonly api: Api;
  readonly advertiser: string;
  readonly agents: readonly {
    readonly id: string;
    readonly agent: SandboxAgent;
    readonly accountId: string;
  }[];
}

export const setUp = async (
  api: Api,
  sandboxes: readonly SandboxAgent[],
  sources: readonly string[] = SOURCES,
): Promise<Buyer> => {
  let calls = 0;
  const post = <Data>(path: string, body: unknown): Promise<Data> =>
    postUntilDone<Data>(api, path, body, `set-up-number-${String((calls += 1)).padStart(6, '0')}`);
  const advertiser = String((await post<{ id: number }>('/advertisers', { name: 'Acme' })).id);
  await syncSources(api, advertiser, sources);
  await post(`/advertisers/${advertiser}/catalogs/sync`, {
    catalogs: CATALOGS.map((catalog_id) => ({ catalog_id, type: 'product', items: [{ sku: '1' }] })),
  });
  await post(`/advertisers/${advertiser}/audiences/sync`, {
    audiences: AUDIENCES.map((audienceId) => ({
      audienceId,
      add: Array.from({ length: PEOPLE }, (_, n) => person(n)),
    })),
  });
  const agents: Buyer['agents'][number][] = [];
  for (const [n, agent] of sandboxes.entries()) {
    const accountId = `acct-${n}`;
    const { id } = await post<{ id: string }>('/adcp-agents', {
      name: `Agent ${n}`,
      ...(n === 0 ? { url: agent.a2aUrl, protocol: 'A2A' } : { url: agent.url, protocol: 'MCP' }),
      auth: { type: 'bearer', token: agent.token },
      accountId,
    });
    agents.push({ id, agent, accountId });
  }
  return { api, advertiser, agents };
};

/** Repeats of one request: a busy machine answers 503. */
export const TRIES_MAX = 20;

export const postUntilDone = async <Data>(
  api: Api,
  path: string,
  body: unknown,
  key: string,
): Promise<Data> => {
  let text = '';
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await api.post<Data>(path, body, { 'Idempotency-Key': key });
    if (answer.status < 300) return answer.body.data;
    text = answer.text;
    await sleep(250);
  }
  throw new Error(`${path} never succeeded: ${text}`);
};

const person = (n: number) => ({ externalId: `p${n}`, hashedEmail: n.toString(16).padStart(64, '0') });

/** Undefined if the process was killed during the call, so that the outcome is unknown. */
const undefinedIfCut = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> =>
  call.catch(() => undefined);
/** A killed process is ready again within this time, also on a busy machine. */
const RESTART_MS_MAX = 120_000;

/** Adds one person and removes one. Repeats both if the outcome is unknown. */
const changeAudience = async ({ api, advertiser }: Buyer, random: Random): Promise<void> => {
  const audienceId = random.pick(AUDIENCES);
  const [come, gone] = [random.below(PEOPLE), random.below(PEOPLE)];
  const remove = come === gone ? [] : [{ externalId: `p${gone}` }];
  const body = { audiences: [{ audienceId, add: [person(come)], remove }] };
  const endMs = performance.now() + RESTART_MS_MAX;
  while (performance.now() < endMs) {
    const answer = await undefinedIfCut(api.post(`/advertisers/${advertiser}/audiences/sync`, body));
    if (answer?.status === 202) return;
    await sleep(100);
  }
  throw new Error('a change of an audience never succeeded');
};

export const keyOf = ({
  resourceId,
  adcpAgentId,
}: Pick<SyndicationResource, 'resourceId' | 'adcpAgentId'>): string => `${resourceId}@${adcpAgentId}`;

/** The longest pause between two toggles: some records change faster than any agent answers. */
const PAUSE_MS_MAX = 150;

/** @param wanted the last requested state, keyed by record */
export const toggleSome = async (
  buyer: Buyer,
  random: Random,
  from: number,
  to: number,
  wanted: Map<string, boolean>,
): Promise<void> => {
  const { api, advertiser, agents } = buyer;
  for (let n = from; n < to; n++) {
    const resourceId = random.pick(RESOURCES);
    const enabled = random.chance(0.6);
    if (random.chance(0.3)) await changeAudience(buyer, random);
    const some = agents.filter(() => random.chance(0.6));
    const adcpAgentIds = (some.length === 0 ? agents.slice(0, 1) : some).map(({ id }) => id);
    const body = { resourceId, adcpAgentIds, enabled };
    const headers = { 'Idempotency-Key': `toggle-number-${String(n).padStart(6, '0')}` };
    const endMs = performance.now() + RESTART_MS_MAX;
    for (;;) {
      const answer = await undefinedIfCut(api.post(`/advertisers/${advertiser}/syndicate`, body, headers));
      if (answer?.status === 201) break;
      // No toggle may be refused permanently.
      if (
        answer !== undefined &&
        answer.status < 500 &&
        answer.body.error?.code !== 'IDEMPOTENCY_IN_FLIGHT'
      ) {
        throw new Error(`a toggle was refused: ${answer.text}`);
      }
      if (performance.now() > endMs) throw new Error(`a toggle never succeeded: ${answer?.text}`);
      await sleep(100);
    }
    for (const adcpAgentId of adcpAgentIds) wanted.set(keyOf({ resourceId, adcpAgentId }), enabled);
    await sleep(random.below(PAUSE_MS_MAX));
  }
};

export const syncSources = async (
  api: Api,
  advertiser: string,
  sources: readonly string[],
): Promise<void> => {
  for (let from = 0; from < sources.length; from += SYNC_MAX) {
    const body = {
      account: { account_id: advertiser },
      event_sources: sources.slice(from, from + SYNC_MAX).map((event_source_id) => ({ event_source_id })),
    };
    const path = `/advertisers/${advertiser}/event-sources/sync`;
    await postUntilDone(api, path, body, `sources-of-${advertiser}-from-${from}-and-on`);
  }
};
