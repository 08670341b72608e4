import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { RequestLimit } from '../limits/limits.ts';
import type { IncomingBytes } from './incoming-bytes.ts';
import type { Principal, Scope } from './principal.ts';
import { isUncounted } from './uncounted.ts';

export interface OutgoingBytes {
  readonly contentType: string;
  readonly length: number;
  readonly open: () => Promise<Readable>;
}

/**
 * One endpoint. The kernel derives from it the Express handler (`app.ts`), the OpenAPI operation (`openapi.ts`) and,
 * in tests, the check of answers against their schemas.
 */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Headers extends z.ZodType = z.ZodType,
  Received = unknown,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** In OpenAPI form, e.g. `/orders/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  /** The required scope. `public`: no credential needed. */
  readonly access: Scope | 'public';
  /** An alternative scope. The handler decides what each one allows. */
  readonly otherAccess?: Scope;
  /**
   * The limit that counts requests: `credential` by the verified credential, others by the client's address. Default:
   * `credential` if one is required, else `address`. `uncounted.ts` lists the exceptions.
   */
  readonly limit?: RequestLimit | 'none';
  readonly params?: Params;
  readonly query?: Query;
  /** Parameters of other routes that this one refuses (400) instead of ignoring, with the reason. */
  readonly refusedQuery?: Readonly<Record<string, string>>;
  /** Optional request headers that the handler reads, in lower case. */
  readonly headers?: Headers;
  readonly body?: Body;
  /** The body contains a secret: its fingerprint is keyed, so that it cannot be used to guess the secret. */
  readonly bodyIsSecret?: boolean;
  /** Maximum size in bytes. Default 1 MiB. */
  readonly bodyBytesMax?: number;
  /** Member of the body whose invalid items are passed to the handler as `RefusedItem` (`json-ingress.ts`). */
  readonly itemsMember?: string;
  /** Allocates values that a repeat must reuse, e.g. a new id. Stored with the idempotency key. */
  readonly reserves?: Readonly<Record<string, () => Promise<number>>>;
  /** The answer contains a secret: it is not stored, and a repeat must derive the same answer. */
  readonly answerIsSecret?: boolean;
  /** Default: the account; method, path and JSON body. */
  keyOf?(input: KeyInput<z.output<Params>, Received>): RequestKey;
  /**
   * Reads the body as a stream instead of JSON. Not part of the answer's deadline, so each wait in it needs a bound.
   */
  receive?(input: ReceiveInput<z.output<Params>, z.output<Query>, z.output<Headers>>): Promise<Received>;
  /** Cleans up after `receive` if the handler does not run: a replay, or a refused key. */
  discard?(received: Received): Promise<void>;
  readonly responses: Readonly<Record<number, SuccessResponse>>;
  handle(
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>, z.output<Headers>, Received>,
  ): Promise<Reply>;
}

export const limitOf = ({
  method,
  path,
  limit,
  access,
}: Pick<Route, 'limit' | 'access' | 'path'> & { readonly method: string }): RequestLimit | 'none' =>
  isUncounted(method, path) ? 'none' : (limit ?? (access === 'public' ? 'address' : 'credential'));

export interface SuccessResponse {
  readonly description: string;
  /** Schema of `data`; absent for an answer without a body (204). */
  readonly data?: z.ZodType;
  readonly mediaType?: string;
  /** A client can also ask for this type, which is sent as text. */
  readonly otherMediaType?: string;
  /** True for offset-paged lists, with `meta.pagination`. */
  readonly paginated?: boolean;
  /** False for documents without the envelope (`/health`, `/openapi.json`). Default true. */
  readonly enveloped?: boolean;
}

interface KeyInput<Params, Received> {
  readonly params: Params;
  readonly received: Received;
}

export interface RequestKey {
  /** Keys of different scopes are independent. */
  readonly scope: string;
  /** SHA-256 that identifies the request. */
  readonly fingerprint: Buffer;
}

export interface ReceiveInput<Params, Query, Headers> {
  /** The request has an idempotency key, so it may be a repeat. */
  readonly isKeyed: boolean;
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly bytes: IncomingBytes;
  readonly clientAddress: string;
}

export interface RouteInput<Params, Query, Body, Headers = unknown, Received = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  readonly received: Received;
  readonly request: RequestContext;
}

export interface RequestContext {
  readonly requestId: string;
  /** The anonymous principal for `public` routes. */
  readonly principal: Principal;
  readonly commandId: string;
  readonly bodyBytes: number;
  readonly isRepeatable: boolean;
  readonly reserved: Readonly<Record<string, number>>;
  readonly hasRunBefore: () => Promise<boolean>;
  readonly onEvents: (run: 'this-run' | 'earlier-run') => void;
  /** True once the request was answered before its handler finished: the handler must start nothing new. */
  readonly isAbandoned: () => boolean;
  /** The answer can no longer be sent: a read may stop (`UnheardError`). */
  readonly isUnheard: () => boolean;
}

export type Reply =
  | {
      readonly status: number;
      readonly data: unknown;
      readonly pagination?: Pagination;
      /** Not stored with an idempotency key, so a repeat runs the handler again. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly status: number; readonly dataJson: string; readonly pagination?: Pagination }
  | {
      readonly status: number;
      readonly text: string;
      readonly contentType: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
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

export const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Sorts fixed path segments before parameters: `{` sorts after every letter. */
export const inOrder = (routes: readonly Route[]): readonly Route[] =>
  routes.toSorted(({ path: a }, { path: b }) => (a === b ? 0 : a < b ? -1 : 1));

/** A route without its answer, to be shared by several implementations. */
export type RouteDeclaration<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> = Pick<
  Route<Params, Query>,
  'method' | 'path' | 'operationId' | 'summary' | 'tag' | 'access' | 'params' | 'query'
>;

export const declaration = <Params extends z.ZodType, Query extends z.ZodType>(
  declared: RouteDeclaration<Params, Query>,
): RouteDeclaration<Params, Query> => declared;

export const route = <
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Headers extends z.ZodType,
  Received,
>(
  definition: Route<Params, Query, Body, Headers, Received>,
): Route => definition;
