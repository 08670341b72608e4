import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { RequestLimit } from '../limits/limits.ts';
import type { IncomingBytes } from './incoming-bytes.ts';
import type { Principal, Scope } from './principal.ts';
import { isUncounted } from './uncounted.ts';

/** What a route answers with instead of text. */
export interface OutgoingBytes {
  readonly contentType: string;
  readonly length: number;
  /** Begins to read them. */
  readonly open: () => Promise<Readable>;
}

/**
 * One endpoint, declared once. From this value the kernel makes the Express handler (`app.ts`), the
 * OpenAPI operation (`openapi.ts`) and, in tests, the check that what was sent fits what was declared.
 */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Headers extends z.ZodType = z.ZodType,
  Received = unknown,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** OpenAPI form, e.g. `/api/v2/buyer/advertisers/{id}`. */
  readonly path: string;
  /** Unique; the OpenAPI operationId. */
  readonly operationId: string;
  readonly summary: string;
  /** The OpenAPI tag: the area of the API. */
  readonly tag: string;
  /** The scope that a verified credential must have. `public`: anyone may call it. */
  readonly access: Scope | 'public';
  /** Another scope that does as well. What each of them lets is the handler's to say. */
  readonly otherAccess?: Scope;
  /**
   * Which limit counts its requests: `credential` by the verified credential, any other by the client's address.
   * Default: `credential` where one is required, otherwise `address`. Paths that none counts are listed in
   * `uncounted.ts`.
   */
  readonly limit?: RequestLimit;
  readonly params?: Params;
  readonly query?: Query;
  /**
   * Query parameters that other routes have and this one has not, where passing over one, as unknown ones are, would
   * answer something else than was asked: each with why it is refused (400).
   */
  readonly refusedQuery?: Readonly<Record<string, string>>;
  /** Request headers that the handler reads, by their names in lower case; none of them is required. */
  readonly headers?: Headers;
  readonly body?: Body;
  /**
   * True when the body holds a secret: what is kept of it with an idempotency key, to tell another request by, is made
   * with a key of the installation. Who reads it cannot try out which secret it was.
   */
  readonly bodyIsSecret?: boolean;
  /** Largest body in bytes. Default 1 MiB (decisions.md 1.1, row 11). */
  readonly bodyBytesMax?: number;
  /**
   * Member of the body that is a list of items judged one by one. An item that breaks a rule of the JSON reader
   * (`json-ingress.ts`) does not refuse the body: it comes to the handler as a `RefusedItem`.
   */
  readonly itemsMember?: string;
  /**
   * Values that must be the same when the command is repeated, e.g. the id of what it creates, by name: how
   * to allocate each. Kept with the idempotency key.
   */
  readonly reserves?: Readonly<Record<string, () => Promise<number>>>;
  /**
   * True when the answer holds a secret: it is not kept with the idempotency key. A repeat runs the handler
   * again, which must come to the same answer (`isRepeatable`).
   */
  readonly answerIsSecret?: boolean;
  /**
   * Whose idempotency keys the route takes, and what makes two of its requests the same request. Default: the
   * account's; method, path and JSON body (decisions.md 1.2).
   */
  keyOf?(input: KeyInput<z.output<Params>, Received>): RequestKey;
  /**
   * Takes the body as bytes (`application/octet-stream`) while they come, instead of JSON; what it returns the handler
   * gets. The answer's deadline does not count it, since the client sends at a pace of its own: every wait on a
   * store in it must have a bound.
   */
  receive?(input: ReceiveInput<z.output<Params>, z.output<Query>, z.output<Headers>>): Promise<Received>;
  /** Lets go of what was received by a request that is answered without its handler: a replay, or a refused key. */
  discard?(received: Received): Promise<void>;
  /** The success answers by status. */
  readonly responses: Readonly<Record<number, SuccessResponse>>;
  handle(
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>, z.output<Headers>, Received>,
  ): Promise<Reply>;
}

/** The limit that counts a route's requests; `none` for what `uncounted.ts` lists. */
export const limitOf = ({
  method,
  path,
  limit,
  access,
}: Pick<Route, 'limit' | 'access' | 'path'> & { readonly method: string }): RequestLimit | 'none' =>
  isUncounted(method, path) ? 'none' : (limit ?? (access === 'public' ? 'address' : 'credential'));

export interface SuccessResponse {
  readonly description: string;
  /** Schema of `data`; absent when the answer has no body (204). */
  readonly data?: z.ZodType;
  /** Media type of an answer that is not JSON. */
  readonly mediaType?: string;
  /** True when `meta.pagination` comes with it (offset-paged lists). */
  readonly paginated?: boolean;
  /** False for the few documents that are not in the envelope (`/health`, `/openapi.json`). Default true. */
  readonly enveloped?: boolean;
}

interface KeyInput<Params, Received> {
  readonly params: Params;
  readonly received: Received;
}

/** What a route says of the idempotency key of a request. */
export interface RequestKey {
  /** Keys of different scopes never meet. */
  readonly scope: string;
  /** SHA-256 of what makes two requests the same request. */
  readonly fingerprint: Buffer;
}

export interface ReceiveInput<Params, Query, Headers> {
  /** The request has an idempotency key: it may be the repeat of one that is done. */
  readonly isKeyed: boolean;
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly bytes: IncomingBytes;
  /** As rate limits count it (`ClientAddress`). */
  readonly clientAddress: string;
}

export interface RouteInput<Params, Query, Body, Headers = unknown, Received = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  /** What `receive` has made of the body. */
  readonly received: Received;
  readonly request: RequestContext;
}

/** What a handler may know of the request besides its input. */
export interface RequestContext {
  readonly requestId: string;
  /** Who calls; for `public` routes the anonymous principal. */
  readonly principal: Principal;
  /** The one command this request is; event ids derive from it. */
  readonly commandId: string;
  /** Size of the body as it was sent. */
  readonly bodyBytes: number;
  /** Somebody may repeat this command: it has an idempotency key. */
  readonly isRepeatable: boolean;
  /** What the route's `reserves` allocated; the same when the command is repeated. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Whether an earlier run of the command may have left events (`KeyedCommand`). */
  readonly hasRunBefore: () => Promise<boolean>;
  /** Goes into the context of every command that the request leads to (`CommandContext`). */
  readonly onEvents: (run: 'this-run' | 'earlier-run') => void;
  /** True once the request has been answered without waiting for its handler: nothing may be begun any more. */
  readonly isAbandoned: () => boolean;
  /** True once nobody hears the answer: it was abandoned, or its client is gone. A read may stop (`UnheardError`). */
  readonly isUnheard: () => boolean;
}

/** A handler's answer. The kernel adds the envelope and the headers that every answer has. */
export type Reply =
  | {
      readonly status: number;
      readonly data: unknown;
      readonly pagination?: Pagination;
      /** Of this answer alone. They are not kept with an idempotency key, so a repeat runs the handler again. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** `data` as ready-made JSON text (a read model's rows): sent as it is. */
  | { readonly status: number; readonly dataJson: string; readonly pagination?: Pagination }
  /** Something that is not JSON (`/metrics`): sent as it is. */
  | { readonly status: number; readonly text: string; readonly contentType: string }
  /** Bytes that are sent as they are read; for HEAD nothing is read. */
  | {
      readonly status: number;
      readonly bytes: OutgoingBytes;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly status: 204 | 304; readonly headers?: Readonly<Record<string, string>> };

export interface Pagination {
  readonly skip: number;
  readonly take: number;
  readonly total: number;
  readonly hasMore: boolean;
}

/** The path of a route as Express' router reads it. */
export const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** A fixed segment of a path goes before a parameter in its place: `{` is behind every letter. */
export const inOrder = (routes: readonly Route[]): readonly Route[] =>
  routes.toSorted(({ path: a }, { path: b }) => (a === b ? 0 : a < b ? -1 : 1));

/** What a route is, apart from what it answers: for whoever has another answer to the same question. */
export type RouteDeclaration<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> = Pick<
  Route<Params, Query>,
  'method' | 'path' | 'operationId' | 'summary' | 'tag' | 'access' | 'params' | 'query'
>;

/** Declares what a route is; only there so that the types of its schemas are kept. */
export const declaration = <Params extends z.ZodType, Query extends z.ZodType>(
  declared: RouteDeclaration<Params, Query>,
): RouteDeclaration<Params, Query> => declared;

/** Declares a route; only there so that the handler's input types follow from the schemas. */
export const route = <
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Headers extends z.ZodType,
  Received,
>(
  definition: Route<Params, Query, Body, Headers, Received>,
): Route => definition;
