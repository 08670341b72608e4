import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import type { Principal } from './principal.ts';
import type { Route } from './route.ts';

/** One request and its answer, as the kernel follows it from its first byte to its log line. */
export interface Exchange {
  readonly requestId: string;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  /** The pattern of its path once one matched. Never the raw URL: that is the client's text. */
  pattern?: string;
  /** The route that handles it, with the parameters of its path as they were sent. */
  handling?: { readonly route: Route; readonly params: Readonly<Record<string, string>> };
  /** Who calls, once verified. */
  principal?: Principal;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Starts following a request; its id is the inbound `X-Request-Id` when that is safe to repeat. */
export const beginExchange = (response: Response): Exchange => {
  const inbound = response.req.headers['x-request-id'];
  const exchange: Exchange = {
    requestId: typeof inbound === 'string' && REQUEST_ID.test(inbound) ? inbound : randomUUID(),
    startedAt: performance.now(),
  };
  response.locals['exchange'] = exchange;
  return exchange;
};

export const exchangeOf = (response: Response): Exchange => response.locals['exchange'] as Exchange;
