import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import type { Principal } from './principal.ts';
import type { ErrorForm, Route } from './route.ts';

export interface Exchange {
  readonly requestId: string;
  /** From `performance.now()`. */
  readonly startedAt: number;
  /** Never the raw URL, which is client text. */
  pattern?: string;
  handling?: { readonly route: Route; readonly params: Readonly<Record<string, string>> };
  principal?: Principal;
  /** How refusals and failures are written. Default: the envelope. */
  errorForm?: ErrorForm;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

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
