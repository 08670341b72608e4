import { accept, refuse, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import { catalogEvents, type CatalogEvent, type CatalogFeedRead } from './events.ts';
import type { Catalog, CatalogDefinition, CatalogFeed } from './resource.ts';

export const CATALOG = 'catalog';
export const CATALOG_CONTENT = 'catalogContent';

export const catalogStream = (customerId: number, catalogId: string): string =>
  `${CATALOG}-${customerId}-${catalogId}`;

/** Never changes once written, so the hash identifies the items. */
export const catalogContentStream = (customerId: number, catalogId: string, contentHash: string): string =>
  `${CATALOG_CONTENT}-${customerId}-${catalogId}-${contentHash}`;

export type CatalogState = { readonly status: 'NONE' } | Catalog;

const initialState = { status: 'NONE' } as const;

const evolve = (state: CatalogState, event: CatalogEvent): CatalogState => {
  const at = event.occurredAt;
  switch (event.type) {
    case 'CatalogPublished': {
      const wasThere = state.status === 'ACTIVE';
      return {
        ...event.data,
        ...(isSameFeed(state, event.data.definition) ? { feed: state.feed } : {}),
        status: 'ACTIVE',
        lastChange: wasThere ? 'updated' : 'created',
        createdAt: state.status === 'NONE' ? at : state.createdAt,
        updatedAt: at,
      };
    }
    case 'CatalogArchived':
      if (state.status === 'NONE') return state;
      return { ...state, status: 'ARCHIVED', lastChange: 'deleted', updatedAt: at };
    case 'CatalogFeedAsked':
      return state.status === 'NONE' ? state : { ...state, lastChange: 'unchanged' };
    case 'CatalogFeedRead':
      return state.status === 'NONE' ? state : afterReading(state, event.data, at);
    case 'CatalogFeedFailed': {
      if (state.status === 'NONE') return state;
      const feed = state.feed ?? UNREAD;
      const failure = { reason: event.data.reason, since: feed.failure?.since ?? at };
      return { ...state, feed: { ...feed, revision: feed.revision + 1, failure } };
    }
    default:
      return (event satisfies never, state);
  }
};

const UNREAD: CatalogFeed = { revision: 0, changes: 0 };

/** Stored results belong to the feed's URL and format; other changes of the catalog keep them. */
const isSameFeed = (state: CatalogState, { content }: CatalogDefinition): state is Catalog => {
  if (state.status === 'NONE' || content.kind !== 'feed') return false;
  const before = state.definition.content;
  return before.kind === 'feed' && before.url === content.url && before.feedFormat === content.feedFormat;
};

const afterReading = (
  state: Catalog,
  { version, contentHash, bytes }: CatalogFeedRead,
  at: string,
): Catalog => {
  const { revision, changes, read: before } = state.feed ?? UNREAD;
  const isSame = before?.contentHash === contentHash;
  const read = isSame ? before : { contentHash, bytes, since: at };
  const feed: CatalogFeed = {
    revision: revision + 1,
    changes: before === undefined || isSame ? changes : changes + 1,
    read,
  };
  return { ...state, version, feed, updatedAt: version === state.version ? state.updatedAt : at };
};

interface PublishCatalog {
  readonly type: 'PublishCatalog';
  readonly now: string;
  readonly catalogId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  readonly definition: CatalogDefinition;
}

export interface FeedBasis {
  readonly version: number;
  readonly revision: number;
}

interface FeedCommand {
  readonly now: string;
  readonly basis: FeedBasis;
}

export type CatalogCommand =
  | PublishCatalog
  | { readonly type: 'ArchiveCatalog'; readonly now: string }
  | (FeedCommand & {
      readonly type: 'RecordFeed';
      readonly contentHash: string;
      readonly bytes: number;
    })
  | (FeedCommand & { readonly type: 'FailFeed'; readonly reason: string });

export interface CatalogRefusal {
  /** `superseded`: the catalog or the stored results of its feed changed since the read started. */
  readonly reason: 'not-found' | 'superseded';
}

/** Take it before the request: a concurrent read may record newer content before the answer comes. */
export const feedBasis = ({ version, feed }: Catalog): FeedBasis => ({
  version,
  revision: feed?.revision ?? 0,
});

type CatalogDecision = Decision<CatalogEvent, CatalogRefusal>;

const publish = (command: PublishCatalog, state: CatalogState): CatalogDecision => {
  const { type: _, now: occurredAt, ...published } = command;
  if (state.status === 'ACTIVE' && equalJson(published.definition, state.definition)) {
    return isReadByItself(state) ? accept() : accept({ type: 'CatalogFeedAsked', data: {}, occurredAt });
  }
  const version = state.status === 'NONE' ? 1 : state.version + 1;
  return accept({ type: 'CatalogPublished', data: { ...published, version }, occurredAt });
};

const archive = (occurredAt: string, state: CatalogState): CatalogDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return accept();
  return accept({ type: 'CatalogArchived', data: {}, occurredAt });
};

/** No feed, or its schedule reads it soon. */
const isReadByItself = ({ definition: { content }, feed }: Catalog): boolean =>
  content.kind === 'inline' || (content.updateFrequency !== undefined && feed?.failure === undefined);

const ofFeed = (command: Extract<CatalogCommand, FeedCommand>, state: CatalogState): CatalogDecision => {
  const superseded = refuse({ reason: 'superseded' as const });
  if (state.status !== 'ACTIVE' || state.definition.content.kind !== 'feed') return superseded;
  const { version, revision } = feedBasis(state);
  const { basis, now: occurredAt } = command;
  if (basis.version !== version || basis.revision !== revision) return superseded;
  const { read, failure } = state.feed ?? {};
  if (command.type === 'FailFeed') {
    const { reason } = command;
    if (failure?.reason === reason) return accept();
    return accept({ type: 'CatalogFeedFailed', data: { reason }, occurredAt });
  }
  const { contentHash, bytes } = command;
  const isSame = read?.contentHash === contentHash;
  if (isSame && failure === undefined) return accept();
  const next = read === undefined || isSame ? version : version + 1;
  return accept({ type: 'CatalogFeedRead', data: { version: next, contentHash, bytes }, occurredAt });
};

const decide = (command: CatalogCommand, state: CatalogState): CatalogDecision => {
  switch (command.type) {
    case 'PublishCatalog':
      return publish(command, state);
    case 'ArchiveCatalog':
      return archive(command.now, state);
    case 'RecordFeed':
    case 'FailFeed':
      return ofFeed(command, state);
    default:
      return command satisfies never;
  }
};

export const catalogFold = {
  category: CATALOG,
  stream: catalogStream,
  events: catalogEvents,
  foldVersion: 2,
  initialState,
  evolve,
};
export const catalogAggregate = { ...catalogFold, decide };
