import { apiOf, untilDefinite, type Api } from '../support/api-client.ts';
import { until } from '../support/until.ts';

/** A buyer that sends each request to one process, and repeats and reads it at another one. */

export interface Purchases {
  /** Acknowledged. */
  readonly campaigns: string[];
  /** Accepted. */
  conversions: number;
  rounds: number;
  /** What an answer should not have been. */
  readonly wrong: string[];
}

export const emptyPurchases = (): Purchases => ({ campaigns: [], conversions: 0, rounds: 0, wrong: [] });

interface Subscription {
  readonly advertiserId: number;
}

const SOURCE = 'upgrade';
const HOUR_MS = 3_600_000;

const apiAt = (baseUrl: string, apiKey: string): Api => apiOf(baseUrl, { Authorization: `Bearer ${apiKey}` });

/** What the buyer needs: an advertiser with an event source, and webhooks of its campaigns. */
export const subscribeOn = async (
  baseUrl: string,
  apiKey: string,
  receiverUrl: string,
): Promise<Subscription> => {
  const api = apiAt(baseUrl, apiKey);
  const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Upgraded' })).body.data;
  const sources = {
    account: { account_id: String(id) },
    event_sources: [{ event_source_id: SOURCE, name: 'Shop', event_types: ['purchase'] }],
  };
  const answers = [
    await api.post(`/advertisers/${id}/event-sources/sync`, sources),
    await api.post('/webhook-subscriptions', { url: receiverUrl, eventTypes: ['campaign.created'] }),
  ];
  const refused = answers.find(({ status }) => status >= 300);
  if (refused !== undefined) throw new Error(refused.text);
  return { advertiserId: id };
};

interface Buyer extends Subscription {
  /** The processes that serve now. */
  readonly ports: readonly number[];
  readonly apiKey: string;
  readonly purchases: Purchases;
  readonly goOn: () => boolean;
}

export const buyOn = async (buyer: Buyer): Promise<void> => {
  const { purchases } = buyer;
  for (; buyer.goOn(); purchases.rounds += 1) {
    await buyCampaign(buyer, purchases.rounds);
    await convert(buyer, purchases.rounds);
  }
};

const atPort = ({ ports, apiKey }: Buyer, turn: number): Api =>
  apiAt(`http://127.0.0.1:${ports[turn % ports.length]}`, apiKey);

const buyCampaign = async (buyer: Buyer, round: number): Promise<void> => {
  const { advertiserId, purchases } = buyer;
  const send = (turn: number) =>
    untilDefinite(() =>
      atPort(buyer, turn).post<{ id: string; name: string }>(
        '/campaigns',
        { advertiserId, name: `Campaign ${round}` },
        { 'Idempotency-Key': `upgrade-campaign-${round}` },
      ),
    );
  const made = await send(round);
  const again = await send(round + 1);
  const { id, name } = made.body.data;
  const read = await untilDefinite(() => atPort(buyer, round + 1).get<{ name: string }>(`/campaigns/${id}`));
  if (made.status !== 201 || again.text !== made.text || read.body.data.name !== name)
    purchases.wrong.push([made, again, read].map(({ status, text }) => `${status} ${text}`).join('\n'));
  purchases.campaigns.push(id);
};

/** With a key in every other round: without one, an event counts once by its id. */
const convert = async (buyer: Buyer, round: number): Promise<void> => {
  const { purchases } = buyer;
  const events = Array.from({ length: 5 }, (_, index) => ({
    eventId: `order-${round}-${index}`,
    eventTime: new Date().toISOString(),
    eventType: 'purchase',
  }));
  const hasKey = round % 2 === 0;
  const headers: Readonly<Record<string, string>> = hasKey
    ? { 'Idempotency-Key': `upgrade-conversions-${round}` }
    : {};
  const send = (turn: number) =>
    untilDefinite(() =>
      atPort(buyer, turn).post<{ accepted: number; duplicates: number }>(
        `/event-sources/${SOURCE}/events`,
        { events },
        headers,
      ),
    );
  const [first, second] = [await send(round), await send(round + 1)];
  // Without a key, an attempt without an answer may have been executed: its events are duplicates then.
  const { accepted, duplicates } = first.body.data;
  const isRight = hasKey
    ? accepted === events.length && second.text === first.text
    : accepted + duplicates === events.length && second.body.data.duplicates === events.length;
  if (!isRight) purchases.wrong.push(`${first.status} ${first.text}\n${second.status} ${second.text}`);
  purchases.conversions += events.length;
};

/** @returns the events of the last hours, once a read model has them */
export const summaryOf = async (baseUrl: string, apiKey: string, advertiserId: number): Promise<number> => {
  const now = Date.now();
  const [startHour, endHour] = [now - 2 * HOUR_MS, now + HOUR_MS].map((ms) => new Date(ms).toISOString());
  const query = new URLSearchParams({ startHour: startHour ?? '', endHour: endHour ?? '' });
  let count = 0;
  await until(async () => {
    const answer = await apiAt(baseUrl, apiKey).get<{ totalEventCount: number }>(
      `/advertisers/${advertiserId}/events/summary?${query.toString()}`,
    );
    count = answer.status === 200 ? answer.body.data.totalEventCount : 0;
    return answer.status === 200;
  });
  return count;
};
