import type { FeedPlace } from '../notifications/cursor.ts';

/** One notification of an account, as its streams send it. */
export interface LiveEntry {
  readonly place: FeedPlace;
  readonly kind: string;
  readonly advertiserId: number | undefined;
  /** The credentials of the account may have changed. Not sent. */
  readonly changesAccess: boolean;
  /** Path of the read that answers with the resource, if there is one. */
  readonly path: string | undefined;
  /** The frame of `GET /realtime`: the same for all streams of the account. */
  readonly frame: string;
}

export interface AccountPlace {
  readonly customerId: number;
  readonly place: FeedPlace;
}

export interface FeedNews {
  /** The table contained everything up to here. */
  readonly end: FeedPlace;
  /** Accounts with notifications after their places. */
  readonly customerIds: readonly number[];
}

export interface LivePage {
  /** Oldest first. */
  readonly entries: readonly LiveEntry[];
  /** The table contained everything up to here. While the read model is rebuilt, it is behind the streams. */
  readonly next: FeedPlace;
  readonly hasMore: boolean;
}

/** The feed of all accounts, as the hub polls it. */
export interface LiveFeed {
  /** Where a stream begins that wants only what happens from now on. */
  end(): Promise<FeedPlace>;
  /** One statement. */
  news(accounts: readonly AccountPlace[]): Promise<FeedNews>;
  page(customerId: number, after: FeedPlace, limit: number): Promise<LivePage>;
  /** For each account that has sent conversion events, a text that changes when more of them are counted. */
  countedConversions(customerIds: readonly number[]): Promise<ReadonlyMap<number, string>>;
  cursorOf(customerId: number, place: FeedPlace): Promise<string>;
  /** Whether the tables of credentials contain all events up to the position. */
  isAccessKnown(position: string): Promise<boolean>;
}

export const isAfter = (a: FeedPlace, b: FeedPlace): boolean =>
  a.position === b.position ? a.idx > b.idx : a.position > b.position;

export const laterOf = (a: FeedPlace, b: FeedPlace): FeedPlace => (isAfter(a, b) ? a : b);
