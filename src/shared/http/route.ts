import type { z } from 'zod';
import type { Principal } from './principal.ts';

/**
 * One endpoint, declared once. From this value the kernel makes the Express handler (`app.ts`), the
 * OpenAPI operation (`openapi.ts`) and, in tests, the check that what was sent fits what was declared.
 */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** OpenAPI form, e.g. `/api/v2/buyer/advertisers/{id}`. */
  readonly path: string;
  /** Unique; the OpenAPI operationId. */
  readonly operationId: string;
  readonly summary: string;
  /** The OpenAPI tag: the area of the API. */
  readonly tag: string;
  /** `account`: a verified credential is required. `public`: anyone may call it. */
  readonly access: 'account' | 'public';
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Largest body in bytes. Default 1 MiB (decisions.md 1.1, row 11). */
  readonly bodyBytesMax?: number;
  /**
   * Values that must be the same when the command is repeated, e.g. the id of what it creates, by name: how
   * to allocate each. Kept with the idempotency key.
   */
  readonly reserves?: Readonly<Record<string, () => Promise<number>>>;
  /** The success answers by status. */
  readonly responses: Readonly<Record<number, SuccessResponse>>;
  handle(input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<Reply>;
}

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

export interface RouteInput<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: RequestContext;
}

/** What a handler may know of the request besides its input. */
export interface RequestContext {
  readonly requestId: string;
  /** Who calls; for `public` routes the anonymous principal. */
  readonly principal: Principal;
  /** The one command this request is; event ids derive from it. */
  readonly commandId: string;
  /** What the route's `reserves` allocated; the same when the command is repeated. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Whether an earlier run of the command may have left events (`KeyedCommand`). */
  readonly hasRunBefore: () => Promise<boolean>;
  /** True once the request has been answered without waiting for its handler: nothing may be begun any more. */
  readonly isAbandoned: () => boolean;
}

/** A handler's answer. The kernel adds the envelope and the headers. */
export type Reply =
  | { readonly status: number; readonly data: unknown; readonly pagination?: Pagination }
  /** `data` as ready-made JSON text (a read model's rows): sent as it is. */
  | { readonly status: number; readonly dataJson: string; readonly pagination?: Pagination }
  /** Something that is not JSON (`/metrics`): sent as it is. */
  | { readonly status: number; readonly text: string; readonly contentType: string }
  | { readonly status: 204 };

export interface Pagination {
  readonly skip: number;
  readonly take: number;
  readonly total: number;
  readonly hasMore: boolean;
}

/** Declares a route; only there so that the handler's input types follow from the schemas. */
export const route = <Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  definition: Route<Params, Query, Body>,
): Route => definition;
