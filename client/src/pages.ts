import type { Data, Operation, Paths, PathsWith } from './paths.ts';

/** Where the answers of lists have their items, if `data` is not the array itself. */
const MEMBERS = [
  'items',
  'audiences',
  'catalogs',
  'eventSources',
  'submissions',
  'sessions',
  'deliveries',
  'events',
  'logs',
  'rows',
  'causes',
  'perSeller',
] as const;

export type Item<D> = D extends readonly (infer I)[]
  ? I
  : {
      [K in keyof D]-?: K extends (typeof MEMBERS)[number]
        ? D[K] extends readonly (infer I)[]
          ? I
          : never
        : never;
    }[keyof D];

type IsPaged<O> = O extends { parameters: { query?: infer Q } }
  ? Extract<keyof NonNullable<Q>, 'take' | 'cursor'> extends never
    ? false
    : true
  : false;

/** The paths whose GET answers page by page. */
export type ListPath = {
  [P in PathsWith<'get'>]: [Item<Data<Operation<P, 'get'>>>] extends [never]
    ? never
    : IsPaged<Operation<P, 'get'>> extends true
      ? P
      : never;
}[PathsWith<'get'>] &
  keyof Paths;

export interface Page<D> {
  readonly items: readonly Item<D>[];
  /** Of the whole list, where the service counts it. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
  /** The answer, with what it says besides its items. */
  readonly data: D;
}

export type Query = Readonly<Record<string, unknown>>;

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export interface ReadPage<D> extends Page<D> {
  /** The query of the next page. */
  readonly next: Query | undefined;
}

/** @param query of the request */
export const readPage = <D>(path: string, query: Query, data: D, meta: unknown): ReadPage<D> => {
  const answer: Members = Array.isArray(data) ? {} : membersOf(data);
  const member = MEMBERS.find((name) => Array.isArray(answer[name]));
  const items = (
    Array.isArray(data) ? data : member === undefined ? [] : answer[member]
  ) as readonly Item<D>[];
  const pagination = membersOf(membersOf(meta)['pagination']);
  const total = numberOf(pagination['total'] ?? answer['total'] ?? membersOf(answer['page'])['total']);
  const after = nextOf(path, query, items.length, answer, pagination, total);
  // `limit` and `offset` are other names for `take` and `skip`: an old `offset` would contradict the new `skip`.
  const { offset: _, ...kept } = query;
  const next = after === undefined ? undefined : { ...('skip' in after ? kept : query), ...after };
  return { items, total, hasMore: next !== undefined, data, next };
};

/** The parameter with which the list continues. */
const nextOf = (
  path: string,
  query: Query,
  count: number,
  answer: Members,
  pagination: Members,
  total: number | undefined,
): Query | undefined => {
  const cursor = answer['nextCursor'] ?? membersOf(answer['page'])['nextCursor'];
  if (cursor !== undefined) {
    if (answer['hasMore'] === false) return undefined;
    return { [path === '/events' ? 'after' : 'cursor']: cursor };
  }
  if (answer['nextAfterRevision'] !== undefined) return { afterRevision: answer['nextAfterRevision'] };
  if (answer['nextAfter'] !== undefined) return { after: answer['nextAfter'] };
  if (answer['nextSkip'] !== undefined) return { skip: answer['nextSkip'] };
  const skip = (numberOf(pagination['skip'] ?? query['skip'] ?? query['offset']) ?? 0) + count;
  if (count === 0 || 'afterRevision' in query || 'logs' in answer) return undefined;
  const hasMore = pagination['hasMore'] ?? (total !== undefined && 'total' in answer && skip < total);
  return hasMore === true ? { skip } : undefined;
};
