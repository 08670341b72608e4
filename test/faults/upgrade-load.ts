import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { campaignStream } from '../../domain/campaigns/campaign.ts';
import type { Campaign } from '../../domain/campaigns/resource.ts';
import { CREATIVE, creativeStream } from '../../domain/creatives/creative.ts';
import { creativeEvents } from '../../domain/creatives/events.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import { builtInSellers } from '../../domain/sellers/resource.ts';
import { apiOf } from '../support/api-client.ts';
import type { SandboxAgent } from '../support/sandbox-agent.ts';
import { until } from '../support/until.ts';
import type { Area } from './kit/buyer/client-state.ts';
import { dataOf, runClient } from './kit/client.ts';
import { emptyHistory, type History } from './kit/history.ts';
import { createRandom } from './kit/random.ts';
import { lastOf, logOf, foldStreams } from './kit/streams.ts';
import { setUp, toggleSome, type Buyer } from './kit/syndicating-buyer.ts';
import { buyOn, emptyPurchases, subscribeOn, type Purchases } from './upgrade-buyer.ts';

/** The writers of an upgrade. Each sends to every process that serves, while workers of both versions write, too. */

const AREAS: readonly Area[] = ['creatives', 'campaigns', 'agents', 'uploads', 'advertisers'];
/** Half of them in each account. */
const CLIENTS = 6;
/** In each phase, by all clients together. */
const COMMANDS_BETWEEN = 40;
const PURCHASES_BETWEEN = 2;
const TOGGLES_BETWEEN = 3;

export interface Load {
  readonly customerId: number;
  readonly customerIds: readonly number[];
  readonly apiKey: string;
  readonly advertiserId: number;
  readonly history: History;
  readonly purchases: Purchases;
  readonly syndicating: Buyer;
  /** The last requested state, keyed by record. */
  readonly wanted: ReadonlyMap<string, boolean>;
  readonly toggles: () => number;
  /** Writes until the work ends. @param work gets a function that waits until every writer has done more */
  during<Result>(work: (untilMore: () => Promise<void>) => Promise<Result>): Promise<Result>;
}

interface LoadOptions {
  readonly installation: Installation;
  /** The processes that serve now. The caller changes it. */
  readonly ports: readonly number[];
  readonly receiverUrl: string;
  readonly agents: readonly [SandboxAgent, SandboxAgent];
}

export const openLoad = async (options: LoadOptions): Promise<Load> => {
  const { installation, ports, agents } = options;
  const accounts = await Promise.all(['A', 'B'].map((name) => createAccount(installation, name)));
  const [account = { customerId: 0, apiKey: '' }] = accounts;
  let calls = 0;
  const nextUrl = (): string => `http://127.0.0.1:${ports[calls++ % ports.length]}`;
  const api = apiOf(nextUrl, { Authorization: `Bearer ${account.apiKey}` });
  const subscription = await subscribeOn(nextUrl(), account.apiKey, options.receiverUrl);
  const syndicating = await setUp(api, agents);
  const [history, purchases, wanted] = [emptyHistory(), emptyPurchases(), new Map<string, boolean>()];
  const random = createRandom(CLIENTS);
  let [toggles, parts] = [0, 0];
  const toggleOn = async (goOn: () => boolean): Promise<void> => {
    for (; goOn(); toggles += 1) await toggleSome(syndicating, random, toggles, toggles + 1, wanted);
  };
  const clientOf = (index: number, goOn: () => boolean): Promise<void> =>
    runClient({
      name: `u${index}-${parts}`,
      ports,
      ...(accounts[index % accounts.length] ?? account),
      // An account has one connection to an engine: one client in each part may write it.
      areas: [
        AREAS[index] ?? 'creatives',
        ...AREAS,
        ...(index < accounts.length ? (['engines'] as const) : []),
      ],
      engineId: 1 + parts,
      agent: agents[1],
      workersSubmit: true,
      random: createRandom(parts * CLIENTS + index),
      history,
      goOn,
    });
  const untilMore = async (): Promise<void> => {
    const enough = [
      history.operations.length + COMMANDS_BETWEEN,
      purchases.rounds + PURCHASES_BETWEEN,
      toggles + TOGGLES_BETWEEN,
    ];
    const done = (): readonly number[] => [history.operations.length, purchases.rounds, toggles];
    await until(async () => done().every((count, index) => count >= (enough[index] ?? 0)));
  };
  const during: Load['during'] = async (work) => {
    let going = true;
    const goOn = (): boolean => going;
    const writing = Promise.all([
      buyOn({ ports, ...account, ...subscription, purchases, goOn }),
      toggleOn(goOn),
      ...Array.from({ length: CLIENTS }, (_, index) => clientOf(index, goOn)),
    ]);
    // Awaited below, also when the work fails.
    writing.catch(() => undefined);
    try {
      return await work(untilMore);
    } finally {
      going = false;
      parts += 1;
      await writing;
    }
  };
  const customerIds = accounts.map(({ customerId }) => customerId);
  return {
    ...account,
    ...subscription,
    customerIds,
    history,
    purchases,
    syndicating,
    wanted,
    toggles: () => toggles,
    during,
  };
};

const PATHS: Readonly<Record<string, (id: string) => readonly string[]>> = {
  CampaignCreated: (id) => [`/campaigns/${id}`, `/campaigns/${id}/history?take=100`],
  CreativeCreated: (id) => [`/creatives/${id}/detail`, `/creatives/${id}/history?take=100`],
  AgentRegistered: (id) => [`/adcp-agents/${id}/history?take=100`],
};

/** Reads of what clients of the account have created, and its history. Each must be 200 from then on. */
export const readsOf = ({ history, customerId }: Load): readonly string[] =>
  history.operations
    .filter((one) => one.customerId === customerId && one.outcome === 'ok')
    .flatMap((one) => PATHS[one.command.event]?.(String(dataOf(one)['id'])) ?? []);

interface Submissions {
  readonly submissions: number;
  /** Ready creatives of active campaigns that no worker has submitted to every seller. */
  readonly missing: readonly string[];
  /** Creatives that were submitted to a seller twice. */
  readonly doubled: readonly string[];
}

/** What workers of both versions have submitted to sellers. */
export const submissionsOf = async (
  { store }: Pick<Installation, 'store'>,
  { customerIds }: Pick<Load, 'customerIds'>,
): Promise<Submissions> => {
  const log = await logOf(store);
  const streams = foldStreams(log);
  const isOurs = ({ customerId }: { readonly customerId: number }): boolean =>
    customerIds.includes(customerId);
  const isActive = (customerId: number, campaignId: string): boolean =>
    (streams.get(campaignStream(customerId, campaignId))?.at(-1) as Campaign | undefined)?.phase === 'active';
  const submitted = new Map<string, number[]>();
  for (const { type, stream, data } of log) {
    if (type !== 'CreativeSubmitted') continue;
    const { sellerIds } = creativeEvents.CreativeSubmitted.data.parse(data);
    submitted.set(stream, [...(submitted.get(stream) ?? []), ...sellerIds]);
  }
  const creatives = (lastOf(streams, CREATIVE) as readonly Creative[]).filter(isOurs);
  const streamOf = ({ customerId, creativeId }: Creative): string => creativeStream(customerId, creativeId);
  const sellersOf = (creative: Creative): readonly number[] => submitted.get(streamOf(creative)) ?? [];
  return {
    submissions: creatives.filter((one) => sellersOf(one).length > 0).length,
    missing: creatives
      .filter(({ state }) => state === 'ready')
      .filter(({ customerId, campaignIds }) => campaignIds.some((id) => isActive(customerId, id)))
      .filter((one) => builtInSellers.some(({ sellerId }) => !sellersOf(one).includes(sellerId)))
      .map(streamOf),
    doubled: creatives.filter((one) => new Set(sellersOf(one)).size !== sellersOf(one).length).map(streamOf),
  };
};
