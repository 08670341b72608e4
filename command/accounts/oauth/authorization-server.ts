import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type Provider from 'oidc-provider';
import type { Clock } from '../../../shared/async/clock.ts';
import { apiErrorOf } from '../../../shared/http/api-error-of.ts';
import { createOutboundFetch, type OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';
import { urlProblem, type OutboundPolicy } from '../../../shared/outbound/outbound-url.ts';
import { ClientRefusedError, clientMetadata } from './client-policy.ts';
import { endGrant } from './grants.ts';
import type { GrantWrites } from './handler.ts';
import { createProvider, ROUTES } from './provider.ts';
import {
  authorizationQuery,
  InvalidResourceError,
  providerRequest,
  registrationBody,
  revocationBody,
  tokenBody,
} from './provider-request.ts';
import { createOAuthRecords } from './records.ts';

export interface UserOfAccount {
  readonly company: string;
  readonly userName: string;
}

/** Undefined if the user was removed, or the account is disabled. */
export type FindUser = (userId: string) => Promise<UserOfAccount | undefined>;

export interface AuthorizationServerOptions extends GrantWrites {
  /** Not bound to an account: a client and a code belong to none. */
  readonly pool: Pool;
  readonly baseUrl: () => string;
  readonly cookieKey: () => Promise<string>;
  readonly findUser: FindUser;
  readonly outbound: OutboundPolicy;
  /** For tests. Default: from the network, as `outbound` allows. */
  readonly fetchMetadata?: OutboundFetch | undefined;
  readonly log: Logger;
}

export type OAuthEndpoint = 'authorize' | 'resume' | 'register' | 'token' | 'revoke' | 'metadata';

export interface AuthorizationServer {
  provider(): Promise<Provider>;
  answer(endpoint: OAuthEndpoint, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Limit for the body of a request, in bytes. */
const BODY_BYTES_MAX = 64 * 1024;
/** Limit for a client's metadata document, in bytes: its drafts recommend it. */
const DOCUMENT_BYTES_MAX = 5 * 1024;
const DOCUMENT_MS_MAX = 2_500;

export const createAuthorizationServer = (options: AuthorizationServerOptions): AuthorizationServer => {
  const { baseUrl, clock } = options;
  let starting: Promise<Provider> | undefined;
  const provider = (): Promise<Provider> => {
    starting ??= startProvider(options);
    starting.catch(() => {
      starting = undefined;
    });
    return starting;
  };
  let callback: ReturnType<Provider['callback']> | undefined;
  return {
    provider,
    answer: async (endpoint, request, response) => {
      try {
        const handed = await handedRequest(endpoint, baseUrl(), clock, request);
        callback ??= (await provider()).callback();
        await callback(handed, response);
      } catch (error) {
        refuse(response, error);
      }
    },
  };
};

const handedRequest = async (
  endpoint: OAuthEndpoint,
  baseUrl: string,
  clock: Clock,
  request: IncomingMessage,
): Promise<IncomingMessage> => {
  const { method = '', headers } = request;
  const { pathname, search } = new URL(request.url ?? '', baseUrl);
  const path = pathFor(endpoint, pathname);
  const copy = (query: string, body?: Buffer): IncomingMessage =>
    providerRequest(baseUrl, { method, headers, body, url: query === '' ? path : `${path}?${query}` });
  const form = async (change: (body: Buffer) => Buffer): Promise<IncomingMessage> => {
    const body = await readBody(request);
    return copy('', isForm(headers) ? change(body) : body);
  };
  switch (endpoint) {
    case 'authorize':
      return copy(authorizationQuery(baseUrl, search, clock.now()));
    case 'register':
      return copy('', registrationBody(await readBody(request)));
    case 'token':
      return form((body) => tokenBody(baseUrl, body));
    case 'revoke':
      return form(revocationBody);
    case 'resume':
    case 'metadata':
      return copy('');
    default:
      return endpoint satisfies never;
  }
};

/** The library serves more paths than this service: what it gets is the path of the route, never the client's. */
const pathFor = (endpoint: OAuthEndpoint, pathname: string): string =>
  endpoint === 'resume' ? `${ROUTES.authorize}/${pathname.split('/').at(-1)}` : ROUTES[endpoint];

const isForm = ({ 'content-type': type = '' }: IncomingMessage['headers']): boolean =>
  type.toLowerCase().startsWith('application/x-www-form-urlencoded');

class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new BodyTooLargeError();
    parts.push(part);
  }
  return Buffer.concat(parts);
};

/** What the library would not refuse, or too late. */
const refuse = (response: ServerResponse, error: unknown): void => {
  if (error instanceof ClientRefusedError) return send(response, 400, error.code, error.message);
  if (error instanceof InvalidResourceError) {
    return send(response, 400, 'invalid_target', 'resource is not a resource of this service');
  }
  if (error instanceof BodyTooLargeError) {
    response.setHeader('Connection', 'close');
    return send(response, 413, 'invalid_request', `the body is larger than ${BODY_BYTES_MAX} bytes`);
  }
  throw error;
};

/** RFC 6749, 5.2. */
const send = (response: ServerResponse, status: number, error: string, description: string): void => {
  const body = JSON.stringify({ error, error_description: description });
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
};

const startProvider = async (options: AuthorizationServerOptions): Promise<Provider> => {
  const { pool, baseUrl, cookieKey, outbound, log } = options;
  const fetchDocument =
    options.fetchMetadata ??
    createOutboundFetch({ ...outbound, timeoutMs: DOCUMENT_MS_MAX, bytesMax: DOCUMENT_BYTES_MAX });
  return createProvider({
    pool,
    records: createOAuthRecords(pool),
    baseUrl: baseUrl(),
    cookieKey: await cookieKey(),
    isUser: async (userId) => (await options.findUser(userId)) !== undefined,
    mayFetch: (url) => urlProblem(url, outbound) === undefined,
    fetchMetadata: fetchClientMetadata(fetchDocument),
    endGrant: (grantId, by) => {
      const commandId = randomUUID();
      return endGrant(options, grantId, by, { commandId, actor: `oauth:${grantId}`, requestId: commandId });
    },
    onError: (error) => {
      const isUnavailable = apiErrorOf(error).status === 503;
      if (isUnavailable) log.warn({ err: error }, 'a store is not available');
      else log.error({ err: error }, 'an OAuth request failed');
      return isUnavailable ? 503 : 500;
    },
  });
};

/** The document is refused, or reduced, like a registration: it is the same data from the same clients. */
const fetchClientMetadata =
  (fetchDocument: OutboundFetch): OutboundFetch =>
  async (url, init) => {
    const answer = await fetchDocument(url, init);
    if (answer.status !== 200) return answer;
    const document = (await answer.json()) as Readonly<Record<string, unknown>>;
    const metadata = { client_id: document['client_id'], ...clientMetadata(document) };
    const cached = answer.headers.get('cache-control');
    return Response.json(metadata, { headers: cached === null ? {} : { 'cache-control': cached } });
  };
