import { afterAll, beforeAll, expect, it } from '@jest/globals';
import * as v2 from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  REDIRECT_URI,
  startOAuthService,
  TestClient,
  useToken,
  type OAuthService,
} from '../support/oauth-service.ts';
import type { TestAccount } from '../support/running-service.ts';

/** The official MCP clients connect: discovery, registration, consent, refresh and step-up are theirs. */

let oauth: OAuthService;
let account: TestAccount;
beforeAll(async () => {
  oauth = await startOAuthService();
  account = await oauth.service.openAccount();
});
afterAll(() => oauth.service.stop());

interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string;
}

/** Both versions of the client take it: it keeps what it is given. */
class MemoryProvider {
  readonly redirectUrl = REDIRECT_URI;
  readonly clientMetadata = {
    client_name: 'MCP client',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'exchange:read exchange:write',
  };
  asked: URL[] = [];
  private client: { client_id: string } | undefined;
  private kept: Tokens | undefined;
  private verifier = '';
  private discovered: v2.OAuthDiscoveryState | undefined;
  clientInformation = () => this.client;
  saveClientInformation = (client: { client_id: string }): void => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens: Tokens): void => void (this.kept = tokens);
  redirectToAuthorization = (url: URL): void => void this.asked.push(url);
  saveCodeVerifier = (verifier: string): void => void (this.verifier = verifier);
  codeVerifier = (): string => this.verifier;
  discoveryState = () => this.discovered;
  saveDiscoveryState = (discovered: v2.OAuthDiscoveryState): void => void (this.discovered = discovered);
}

const consent = (provider: MemoryProvider): Promise<URL> => {
  const url = provider.asked.at(-1);
  if (url === undefined) throw new Error('the client asked for no authorization');
  return oauth.browserOf(account).authorize(url);
};
const mcpUrl = (): URL => new URL(`${oauth.service.baseUrl}/mcp`);
const parametersOf = (url: URL | undefined) => Object.fromEntries(url?.searchParams ?? []);
const expireAccessTokens = () =>
  oauth.service.pool.query(`update oauth_records set expires_at = now() where kind = 'AccessToken'`);

const status = { name: 'get_status', arguments: {} };
const connected = { scopes: ['exchange:read', 'exchange:write'] };

it('version 2', async () => {
  const provider = new MemoryProvider();
  const client = new v2.Client({ name: 'test', version: '1.0.0' });
  const connect = async () => {
    const transport = new v2.StreamableHTTPClientTransport(mcpUrl(), { authProvider: provider });
    return { transport, connected: client.connect(transport) };
  };
  const first = await connect();
  await expect(first.connected).rejects.toThrow(v2.UnauthorizedError);
  expect(parametersOf(provider.asked[0])).toMatchObject({
    resource: mcpUrl().href,
    scope: expect.stringMatching(/^exchange:read exchange:write/),
    code_challenge_method: 'S256',
  });
  await first.transport.finishAuth((await consent(provider)).searchParams);
  await (
    await connect()
  ).connected;
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('save_advertiser');
  const before = provider.tokens()?.access_token;
  await expireAccessTokens();
  expect((await client.callTool(status)).structuredContent).toMatchObject(connected);
  expect(provider.tokens()?.access_token).not.toBe(before);
  expect(provider.asked).toHaveLength(1);
  await client.close();
});

it('version 1', async () => {
  const provider = new MemoryProvider();
  const client = new Client({ name: 'test', version: '1.0.0' });
  const connect = async () => {
    const transport = new StreamableHTTPClientTransport(mcpUrl(), { authProvider: provider });
    return { transport, connected: client.connect(transport) };
  };
  const first = await connect();
  await expect(first.connected).rejects.toThrow(UnauthorizedError);
  expect(parametersOf(provider.asked[0])).toMatchObject({ resource: mcpUrl().href });
  await first.transport.finishAuth((await consent(provider)).searchParams.get('code') ?? '');
  await (
    await connect()
  ).connected;
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('save_advertiser');
  await expireAccessTokens();
  expect((await client.callTool(status)).structuredContent).toMatchObject(connected);
  expect(provider.asked).toHaveLength(1);
  await client.close();
});

it('a client whose user gave it less asks for more when a tool needs it', async () => {
  const provider = new MemoryProvider();
  provider.clientMetadata.scope = 'exchange:read';
  const client = new v2.Client({ name: 'test', version: '1.0.0' });
  const connect = () => {
    const transport = new v2.StreamableHTTPClientTransport(mcpUrl(), { authProvider: provider });
    return { transport, connected: client.connect(transport) };
  };
  const first = connect();
  await expect(first.connected).rejects.toThrow(v2.UnauthorizedError);
  const url = provider.asked.at(-1);
  if (url === undefined) throw new Error('no authorization');
  const to = await oauth.browserOf(account).authorize(url, { decision: 'allow', scopes: ['exchange:read'] });
  await first.transport.finishAuth(to.searchParams);
  const second = connect();
  await second.connected;
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('save_advertiser');
  const change = { name: 'save_advertiser', arguments: { name: 'A', idempotencyKey: 'key-of-this-change' } };
  await expect(client.callTool(change)).rejects.toThrow();
  expect(provider.asked).toHaveLength(2);
  expect(parametersOf(provider.asked[1])['scope']).toContain('exchange:write');
  await second.transport.finishAuth((await consent(provider)).searchParams);
  // The consent is another credential, so another session.
  await client.close();
  await connect().connected;
  expect((await client.callTool(change)).structuredContent).toMatchObject({ action: 'created' });
  await client.close();
});

it('a token of the REST API is refused, and the challenge names the metadata of MCP', async () => {
  const client = await TestClient.register(oauth.service.baseUrl);
  const resource = `${oauth.service.baseUrl}/api/v2/buyer`;
  const { access_token: token } = await client.tokens(oauth.browserOf(account), { resource });
  const answer = await fetch(mcpUrl(), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
  });
  expect((await useToken(oauth.service.baseUrl, token)).status).toBe(200);
  expect(answer.status).toBe(401);
  expect(answer.headers.get('www-authenticate')).toContain(
    `resource_metadata="${oauth.service.baseUrl}/.well-known/oauth-protected-resource/mcp"`,
  );
});

it('the challenge of MCP names the scopes to ask for; that of the REST API names none', async () => {
  const challengeOf = async (path: string, headers = {}) => {
    const answer = await fetch(`${oauth.service.baseUrl}${path}`, { headers });
    return [answer.status, answer.headers.get('www-authenticate')];
  };
  const scope = 'scope="exchange:read exchange:write"';
  expect(await challengeOf('/mcp')).toEqual([401, expect.stringContaining(scope)]);
  expect(await challengeOf('/mcp', { Authorization: 'Bearer at_unknown' })).toEqual([
    401,
    expect.stringMatching(new RegExp(`${scope}.*error="invalid_token"`)),
  ]);
  expect(await challengeOf('/api/v2/buyer/advertisers')).toEqual([
    401,
    expect.not.stringContaining('scope='),
  ]);
});
