import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomId } from '../ids.ts';

/** One request and its answer, as the kernel follows it from its first byte to its log line. */
export interface Exchange {
  readonly requestId: string;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  /** The route's path pattern once one matched. Never the raw URL: that is the client's text. */
  route: string;
  /** The account, once verified; 0 before. */
  customerId: number;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** On the answer itself: a `WeakMap` with an entry for each request is work for every garbage collection. */
const ofAnswer = Symbol('exchange');
type Followed = ServerResponse & { [ofAnswer]?: Exchange };

/** Starts following a request; its id is the inbound `X-Request-Id` when that is safe to repeat. */
export const beginExchange = (request: IncomingMessage, response: Followed): Exchange => {
  const inbound = request.headers['x-request-id'];
  const exchange: Exchange = {
    requestId: typeof inbound === 'string' && REQUEST_ID.test(inbound) ? inbound : randomId(),
    startedAt: performance.now(),
    route: '',
    customerId: 0,
  };
  response[ofAnswer] = exchange;
  return exchange;
};

export const exchangeOf = (response: Followed): Exchange => {
  const exchange = response[ofAnswer];
  if (exchange === undefined) throw new Error('the first middleware did not run');
  return exchange;
};
