import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { AgentAnswer } from '../syndication/agent-call.ts';
import { ReferringBuy, referenceOf } from './media-buy-reference.ts';

/** Keyed by media buy: the reference that the seller lists for it, if any. */
export type ListedBuys = ReadonlyMap<string, string | undefined>;

/** The most that AdCP allows on a page. */
const PAGE_SIZE = 100;
/** Media buys after these are not asked for. */
const PAGES_MAX = 10;
/** AdCP lists active ones alone unless asked. The others have delivered nothing. */
const STATUSES = ['active', 'paused', 'completed', 'canceled'];

const Answer = z.object({
  media_buys: z.array(z.unknown()),
  pagination: z.object({ has_more: z.boolean(), cursor: z.string().nullish() }).nullish().catch(undefined),
});
const Listed = ReferringBuy.extend({ end_time: z.string().nullish().catch(undefined) });

/**
 * Some sellers report only media buys that the request names.
 *
 * @param ask calls `get_media_buys` with these members
 * @param sinceMs media buys that ended before are left out
 * @returns undefined if the seller offers no list; a failure that may pass as it is
 */
export const listMediaBuys = async (
  ask: (request: JsonObject) => Promise<AgentAnswer>,
  sinceMs: number,
): Promise<ListedBuys | undefined | Extract<AgentAnswer, { readonly outcome: 'retry' }>> => {
  const listed = new Map<string, string | undefined>();
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const pagination = { max_results: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
    const answer = await ask({ status_filter: STATUSES, pagination });
    if (answer.outcome === 'retry') return answer;
    const { data } = Answer.safeParse(answer.outcome === 'completed' ? answer.data : undefined);
    if (data === undefined) return undefined;
    for (const item of data.media_buys) {
      const { data: buy } = Listed.safeParse(item);
      if (buy === undefined || listed.has(buy.media_buy_id)) continue;
      // An invalid date compares false.
      if (Date.parse(buy.end_time ?? '') < sinceMs) continue;
      listed.set(buy.media_buy_id, referenceOf(buy));
    }
    cursor = data.pagination?.has_more === true ? (data.pagination.cursor ?? undefined) : undefined;
    if (cursor === undefined) break;
  }
  return listed;
};
