import type { FetchOptions } from 'openapi-fetch';
import type { paths } from './api.ts';

/** Everything below this is called by its path without it. */
export const BUYER = '/api/v2/buyer';

/** Paths below `/api/v2/buyer` without that prefix, and the other paths of the API as they are. */
export type Paths = {
  [
    P in keyof paths as P extends `/api/v2/buyer${infer Rest}`
      ? Rest
      : P extends `/api/v2/${string}` | `/auth/${string}`
        ? P
        : never
  ]: paths[P];
};

export type Method = 'get' | 'put' | 'post' | 'delete';

/** The paths that have a method. */
export type PathsWith<M extends Method> = {
  [P in keyof Paths]: Paths[P] extends Record<M, object> ? P : never;
}[keyof Paths];

export type Operation<P extends keyof Paths, M extends Method> =
  Paths[P] extends Record<M, infer O> ? O : never;

type Json<R> = R extends { content: { 'application/json': infer J } } ? J : never;

type Body<O> = O extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 | 202 ? Json<R[S]> : never }[keyof R]
  : never;

/** What a call resolves to: `data` of the answer, or undefined if the answer has no body. */
export type Data<O> = [Body<O>] extends [never] ? undefined : Body<O> extends { data: infer D } ? D : Body<O>;

export interface CallOptions {
  /** For a repeat of an earlier call. By default each call of a write has a new key. */
  readonly idempotencyKey?: string;
}

export type Init<O> = FetchOptions<O> & CallOptions;

type RequiredKeys<T> = { [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? never : K }[keyof T];

/** The second argument of a call, which may be left out if nothing in it is required. */
export type InitArgument<O> = [RequiredKeys<Init<O>>] extends [never] ? [init?: Init<O>] : [init: Init<O>];

/** The same, as code reads it that serves all paths. */
export interface AnyInit extends CallOptions {
  readonly params?: {
    readonly path?: Readonly<Record<string, unknown>>;
    readonly query?: Readonly<Record<string, unknown>>;
  };
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly parseAs?: string;
  readonly signal?: AbortSignal;
}
