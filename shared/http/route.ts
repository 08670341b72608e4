import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Client } from './client.ts';
import type { ErrorCode } from './errors.ts';
import type { IncomingBytes } from './incoming-bytes.ts';
import { limitOfRoute, type CountedIn } from './limit-of.ts';
import type { Principal, Scope } from './principal.ts';

export interface OutgoingBytes {
  readonly contentType: string;
  readonly length: number;
  readonly open: () => Promise<Readable>;
}

/** `session`: a signed-in person, and no other credential. */
export type Access = Scope | 'public' | 'session';

/** Decides which requests are admitted (`gate.ts`) and how they are listed. */
export interface RouteBase {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  readonly access: Access;
  /** Default: `credential` if one is required, else `address`. Exceptions: `limit-of.ts`. */
  readonly limit?: CountedIn;
  /** Path of the protected resource that an access token must be for. Default: the API's. */
  readonly resource?: string;
  /** It also answers every path below its own that no other route answers. */
  readonly withAllBelow?: true;
  /** The address contains a signed token instead of a credential. */
  readonly uploadToken?: true;
  /** In addition to those that the declaration implies (`errors-of-route.ts`). */
  readonly alsoRefuses?: readonly ErrorCode[];
  /** More than the summary says, as Markdown. */
  readonly description?: string;
  /** A public route that sets or uses cookies: requests of pages of other origins are refused. */
  readonly firstParty?: true;
  /** Pages of any origin may read the answer: it is the same for all, and uses no cookie. */
  readonly anyOrigin?: true;
}

/** `app.ts` serves it, `openapi.ts` documents it, tests check its answers. */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Headers extends z.ZodType = z.ZodType,
  Received = unknown,
> extends RouteBase {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** The handler decides what each scope allows. */
  readonly otherAccess?: Scope;
  readonly params?: Params;
  readonly query?: Query;
  /** Refused (400) instead of ignored, with the reason. */
  readonly refusedQuery?: Readonly<Record<string, string>>;
  readonly headers?: Headers;
  readonly body?: Body;
  /** The fingerprint is keyed, so that it cannot be used to guess the secret. */
  readonly bodyIsSecret?: boolean;
  /** Default 1 MiB. */
  readonly bodyBytesMax?: number;
  /** Its invalid items are passed to the handler as `RefusedItem` (`json-ingress.ts`). */
  readonly itemsMember?: string;
  /** Allocates values that a repeat must reuse, e.g. a new id. Stored with the idempotency key. */
  readonly reserves?: Readonly<Record<string, () => Promise<number>>>;
  /** The answer is not stored, and a repeat must derive the same answer. */
  readonly answerIsSecret?: boolean;
  /** Default: the account; method, path and JSON body. */
  keyOf?(input: KeyInput<z.output<Params>, Received>): RequestKey;
  /** Reads the body as a stream. Not part of the answer's deadline, so each wait in it needs a bound. */
  receive?(input: ReceiveInput<z.output<Params>, z.output<Query>, z.output<Headers>>): Promise<Received>;
  /** Called if the handler does not run: a replay, or a refused key. */
  discard?(received: Received): Promise<void>;
  readonly responses: Readonly<Record<number, SuccessResponse>>;
  handle(
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>, z.output<Headers>, Received>,
  ): Promise<Reply>;
}

/** `oauth`: RFC 6749, 5.2. */
export type ErrorForm = 'envelope' | 'oauth';

/** Answered by other code, e.g. an OAuth library. It is admitted, counted and logged like a `Route`. */
export interface HandedOverRoute extends RouteBase {
  readonly method: 'get' | 'post' | 'put' | 'delete' | 'options';
  /** How a refusal before the request is handed over is written. */
  readonly errors: ErrorForm;
  /** For its description: the answerer reads them itself (`readQuery`, `readHeaders`). */
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  /** The bodies of its protocol, for its description. */
  readonly sends?: ProtocolBody;
  readonly answers?: ProtocolBody;
  /** Default: what its protocol defines. */
  readonly success?: SuccessResponse;
  /** Reads the body and ends the response. There is no deadline. */
  serve(request: IncomingMessage, response: ServerResponse, context: HandedOverContext): void | Promise<void>;
}

export interface ProtocolBody {
  readonly mediaType: string;
  readonly schema: z.ZodType;
}

export interface HandedOverContext {
  readonly requestId: string;
  readonly principal: Principal;
  readonly client: Client;
}

export type AnyRoute = Route | HandedOverRoute;

export type AdmittedRoute = Pick<RouteBase, 'path' | 'access' | 'limit' | 'resource' | 'anyOrigin'> & {
  readonly method: string;
};

export const limitOf = ({ method, path, limit, access }: AdmittedRoute): CountedIn =>
  limitOfRoute(method, path, limit ?? (access === 'public' ? 'address' : 'credential'));

export interface SuccessResponse {
  readonly description: string;
  readonly data?: z.ZodType;
  readonly mediaType?: string;
  readonly otherMediaType?: string;
  readonly paginated?: boolean;
  /** Default true. */
  readonly enveloped?: boolean;
  /** Further headers (`openapi-refusals.ts`). */
  readonly headers?: readonly string[];
}

interface KeyInput<Params, Received> {
  readonly customerId: number;
  readonly params: Params;
  readonly received: Received;
}

export interface RequestKey {
  readonly scope: string;
  /** SHA-256. */
  readonly fingerprint: Buffer;
}

export interface ReceiveInput<Params, Query, Headers> {
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
  readonly principal: Principal;
  readonly client: Client;
  readonly commandId: string;
  readonly bodyBytes: number;
  readonly isRepeatable: boolean;
  readonly reserved: Readonly<Record<string, number>>;
  readonly hasRunBefore: () => Promise<boolean>;
  readonly onEvents: (run: 'this-run' | 'earlier-run') => void;
  /** The request was answered before its handler finished: the handler must start nothing new. */
  readonly isAbandoned: () => boolean;
  /** The answer can no longer be sent: a read may stop (`ClientGoneError`). */
  readonly isClientGone: () => boolean;
}

/** Several values: several lines, e.g. of `Set-Cookie`. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

export type Reply =
  | {
      readonly status: number;
      readonly data: unknown;
      readonly pagination?: Pagination;
      /** The idempotency key stays usable, also for another body. */
      readonly hadNoEffect?: boolean;
      /** Not stored with an idempotency key, so a repeat runs the handler again. */
      readonly headers?: ReplyHeaders;
    }
  | { readonly status: number; readonly dataJson: string; readonly pagination?: Pagination }
  | {
      readonly status: number;
      readonly text: string;
      readonly contentType: string;
      readonly headers?: ReplyHeaders;
    }
  | {
      readonly status: number;
      readonly bytes: OutgoingBytes;
      readonly headers?: ReplyHeaders;
    }
  | { readonly status: 204 | 304; readonly headers?: ReplyHeaders };

export interface Pagination {
  readonly skip: number;
  readonly take: number;
  readonly total: number;
  readonly hasMore: boolean;
}

export const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

export const expressPaths = ({ path, withAllBelow }: Pick<RouteBase, 'path' | 'withAllBelow'>): string[] =>
  withAllBelow === true
    ? [expressPath(path), `${expressPath(path)}/`, `${expressPath(path)}/*below`]
    : [expressPath(path)];

/** `{` sorts after every letter. */
export const inOrder = <Listed extends { readonly path: string; readonly withAllBelow?: true }>(
  routes: readonly Listed[],
): readonly Listed[] =>
  routes.toSorted(({ path: a, withAllBelow: isLate = false }, { path: b, withAllBelow: isLater = false }) =>
    isLate !== isLater ? Number(isLate) - Number(isLater) : a === b ? 0 : a < b ? -1 : 1,
  );

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
