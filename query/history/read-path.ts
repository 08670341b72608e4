import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createSharedForEach } from '../../shared/async/limit.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { AuditedKind, RequestParams } from '../resources/audited-kind.ts';
import { readAsOf, type DetailOfKind } from './as-of.ts';
import { createFoldCache } from './fold-cache.ts';
import { createStreamHistory } from './stream-history.ts';

const KEPT_BYTES_MAX = 8 * 1024 * 1024;
const AT_ONCE = { each: 16, together: 32 };

interface PathOfDetail extends DetailOfKind {
  readonly pattern: RegExp;
}

/**
 * What `GET path?asOf=revision` answers to the account, without a request.
 * @returns undefined if the API has no such read, or nothing was there
 */
export const createReadPath = (store: EventStore, kinds: readonly AuditedKind[]) => {
  const kept = createFoldCache(store, KEPT_BYTES_MAX);
  const reads = {
    historyFor: () => createStreamHistory(store, kept),
    forEach: createSharedForEach(AT_ONCE),
  };
  const paths = kinds.flatMap(pathsOf);
  return async (customerId: number, path: string, revision: number): Promise<unknown> => {
    for (const detail of paths) {
      const named = detail.pattern.exec(path)?.groups;
      const asked = named === undefined ? undefined : paramsOf(detail, named);
      if (asked === undefined) continue;
      const reader = { principal: { customerId }, isClientGone: () => false };
      return readAsOf(reads, detail, reader, asked, { revision }).catch(unlessRefused);
    }
    return undefined;
  };
};

/** Fixed paths first: `/creatives/sessions` is not a creative. */
const pathsOf = (kind: AuditedKind): readonly PathOfDetail[] => {
  const { place, details } = kind;
  if (place === undefined) return [];
  return details.map((detail) => ({ kind, place, detail, pattern: patternOf(detail.route.path) }));
};

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

const paramsOf = ({ detail }: DetailOfKind, named: Record<string, string>): RequestParams | undefined => {
  const { params } = detail.route;
  if (params === undefined) return {};
  const asked = Object.fromEntries(
    Object.entries(named).map(([name, value]) => [name, decodeURIComponent(value)]),
  );
  const parsed = params.safeParse(asked);
  return parsed.success ? (parsed.data as RequestParams) : undefined;
};

/** For a read whose caller takes a resource that is not there as undefined. */
export const unlessRefused = (error: unknown): undefined => {
  if (error instanceof ApiError && error.body.code === 'NOT_FOUND') return undefined;
  throw error;
};
