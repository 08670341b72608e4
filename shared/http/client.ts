import type { IncomingMessage } from 'node:http';
import { parseCookie } from 'cookie';
import { SESSION_COOKIE } from './authenticate.ts';
import type { ClientAddress } from './client-address.ts';

export interface Client {
  /** As the limits count it: an IPv6 client is its /64 network. */
  readonly address: string;
  readonly agent: string | undefined;
  /** From the cookie, not verified. */
  readonly sessionSecret?: string | undefined;
}

const AGENT_LENGTH_MAX = 512;

/** Computed when it is read: few requests need it. */
export class RequestClient implements Client {
  readonly #request: IncomingMessage;
  readonly #addressOf: ClientAddress;

  constructor(request: IncomingMessage, addressOf: ClientAddress) {
    this.#request = request;
    this.#addressOf = addressOf;
  }

  get address(): string {
    return this.#addressOf(this.#request);
  }

  get sessionSecret(): string | undefined {
    return parseCookie(this.#request.headers.cookie ?? '')[SESSION_COOKIE];
  }

  /** The header `User-Agent`, in printable ASCII. */
  get agent(): string | undefined {
    return this.#request.headers['user-agent']?.slice(0, AGENT_LENGTH_MAX).replaceAll(/[^\x20-\x7E]/g, '?');
  }
}
