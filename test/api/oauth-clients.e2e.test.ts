import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { unusedClients } from '../../command/accounts/oauth/clients.ts';
import { OutboundError } from '../../shared/outbound/outbound-error.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import {
  pkce,
  REDIRECT_URI,
  startOAuthService,
  TestClient,
  useToken,
  type OAuthService,
} from '../support/oauth-service.ts';
import { operate } from '../support/program.ts';
import type { TestAccount } from '../support/running-service.ts';

/** Clients with a metadata document, clients of the operator, and clients that no user has connected. */

const CLIENT_ID = 'https://client.example.com/oauth/metadata.json';
const document = {
  client_id: CLIENT_ID,
  client_name: 'Published app',
  redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
};

let oauth: OAuthService;
let account: TestAccount;
let documents: Readonly<Record<string, object | string | number>> = {};
const fetched: string[] = [];
beforeAll(async () => {
  oauth = await startOAuthService(
    {},
    {
      clientMetadataFetch: async (url) => {
        fetched.push(String(url));
        const found = documents[String(url)];
        if (found === undefined) throw new OutboundError('unreachable');
        if (typeof found === 'number') return new Response('', { status: found });
        return new Response(typeof found === 'string' ? found : JSON.stringify(found));
      },
    },
  );
  account = await oauth.service.openAccount();
});
afterAll(() => oauth.service.stop());

const { challenge } = pkce();
const asking = (clientId: string, changed = {}) =>
  new TestClient(oauth.service.baseUrl, clientId).authorizationUrl(challenge, {
    redirect_uri: 'http://127.0.0.1:9999/callback',
    ...changed,
  });
const ask = (clientId: string, changed = {}) => oauth.browserOf(account).fetch(asking(clientId, changed));

describe('a client with a metadata document', () => {
  it('needs no registration; the consent shows the host that publishes it', async () => {
    documents = { [CLIENT_ID]: document };
    const page = oauth.browserOf(account);
    const uid = await page.start(asking(CLIENT_ID));
    const shown = (await (await page.fetch(`/api/console/oauth/${uid}`)).json()) as {
      data: { client: object };
    };
    expect(shown.data.client).toEqual({
      id: CLIENT_ID,
      name: 'Published app',
      host: 'client.example.com',
      isVerified: false,
      registration: 'metadata-document',
    });
    const { verifier, challenge: own } = pkce();
    const redirect = { redirect_uri: 'http://localhost:51111/callback' };
    const client = new TestClient(oauth.service.baseUrl, CLIENT_ID);
    const to = await page.authorize(client.authorizationUrl(own, redirect));
    const { status, body } = await client.redeem(
      { code: to.searchParams.get('code') ?? '', verifier },
      redirect,
    );
    expect([status, (await useToken(oauth.service.baseUrl, body.access_token)).status]).toEqual([200, 200]);
    expect((await client.refresh(body.refresh_token)).status).toBe(200);
    const events = await oauth.service.eventsOfAccount(account);
    expect(events.findLast(({ type }) => type === 'OAuthClientAuthorized')?.data).toMatchObject({
      clientId: CLIENT_ID,
      clientName: 'Published app',
      clientHost: 'client.example.com',
    });
    expect(fetched).toEqual([CLIENT_ID]);
  });

  it.each([
    ['is missing', undefined],
    ['cannot be read', 500],
    ['has moved', 302],
    ['is HTML', '<html>'],
    ['is a list', '[]'],
    ['names another client', { ...document, client_id: 'https://client.example.com/other' }],
    ['has a redirect to a plain host', { ...document, redirect_uris: ['http://evil.example/cb'] }],
    ['has a script as redirect', { ...document, redirect_uris: ['javascript:alert(1)'] }],
    ['has a name that turns text around', { ...document, client_name: 'a\u202eb' }],
  ])('whose document %s is refused', async (what, found) => {
    const id = `https://client.example.com/${encodeURIComponent(what)}`;
    const own =
      typeof found === 'object' && found.client_id === CLIENT_ID ? { ...found, client_id: id } : found;
    documents = own === undefined ? {} : { [id]: own };
    const answer = await ask(id);
    expect([answer.status, answer.headers.get('location')]).toEqual([expect.any(Number), null]);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    await answer.text();
  });

  it.each([
    'http://client.example.com/metadata.json',
    'https://client.example.com/a/../metadata.json',
    'https://user@client.example.com/metadata.json',
    'https://client.example.com/metadata.json#x',
    'https://client.example.com:8443/metadata.json',
  ])('%s is never fetched', async (id) => {
    documents = { [id]: { ...document, client_id: id } };
    const before = fetched.length;
    expect((await ask(id)).status).toBeGreaterThanOrEqual(400);
    expect(fetched.length).toBe(before);
  });

  it('cannot make the service fetch keys or pictures', async () => {
    const id = 'https://client.example.com/keys';
    documents = {
      [id]: {
        ...document,
        client_id: id,
        jwks_uri: 'https://client.example.com/jwks',
        logo_uri: 'https://x.example/l',
      },
    };
    const before = fetched.length;
    expect((await ask(id)).status).toBe(303);
    expect(fetched.slice(before)).toEqual([id]);
  });
});

describe('the network of the service', () => {
  let canary: Server;
  let connections = 0;
  let open: OAuthService;
  beforeAll(async () => {
    canary = createServer((_request, response) => response.end('secret'));
    canary.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
    open = await startOAuthService();
  });
  afterAll(async () => {
    canary.close();
    canary.closeAllConnections();
    await open.service.stop();
  });

  it('is out of reach for a client id, in every form of an address', async () => {
    const { port } = canary.address() as AddressInfo;
    const urls = hostileUrls(port).flatMap((url) => [url, `${url}metadata.json`]);
    const isRefused = ({ status }: { readonly status: number }): boolean => status >= 400 && status < 500;
    const attack = async (url: string): Promise<readonly boolean[]> => {
      const client = new TestClient(open.service.baseUrl, url);
      const answer = await fetch(client.authorizationUrl(challenge), { redirect: 'manual' });
      await answer.text();
      return [isRefused(answer), answer.headers.has('location'), isRefused(await client.refresh('rt_x'))];
    };
    for (let from = 0; from < urls.length; from += 20) {
      const some = urls.slice(from, from + 20);
      expect(await Promise.all(some.map(attack))).toEqual(some.map(() => [true, false, true]));
    }
    console.log(`${urls.length} client ids refused, ${connections} connections to the canary`);
    expect(connections).toBe(0);
  });
});

describe('the operator', () => {
  const cli = (...words: string[]) => operate(words, async () => oauth.service.installation);

  it('adds a client, which is shown as verified, lists it, and removes it with all access', async () => {
    const [added] = await cli(
      'oauth',
      'clients',
      'add',
      '--name',
      'Planning tool',
      '--redirect-uri',
      REDIRECT_URI,
    );
    const { clientId } = (added?.value ?? {}) as { clientId: string };
    const client = new TestClient(oauth.service.baseUrl, clientId);
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    const shown = (await (await page.fetch(`/api/console/oauth/${uid}`)).json()) as {
      data: { client: object };
    };
    expect(shown.data.client).toEqual({
      id: clientId,
      name: 'Planning tool',
      isVerified: true,
      registration: 'operator',
    });
    const { access_token: token } = await client.tokens(page);
    const listed = await cli('oauth', 'clients', 'list');
    expect(listed.map(({ value }) => value)).toMatchObject([{ clientId, registeredBy: 'operator' }]);
    const [removed] = await cli('oauth', 'clients', 'remove', clientId);
    expect(removed?.value).toEqual({ clientId, revoked: 1 });
    expect((await useToken(oauth.service.baseUrl, token)).status).toBe(401);
    expect((await oauth.service.eventsOfAccount(account)).at(-1)).toMatchObject({
      type: 'OAuthGrantRevoked',
      data: { by: 'operator' },
      metadata: { actor: 'operator' },
    });
    expect((await ask(clientId, { redirect_uri: REDIRECT_URI })).status).toBe(400);
    await expect(cli('oauth', 'clients', 'remove', clientId)).rejects.toThrow(/There is no client/);
  });

  it('removes a client that registered itself, too; a repeat ends the access that an interruption left', async () => {
    const self = await TestClient.register(oauth.service.baseUrl);
    const { access_token: token, refresh_token: refresh } = await self.tokens(oauth.browserOf(account));
    // The command ended after it had deleted the client.
    await oauth.service.pool.query('delete from oauth_clients where client_id = $1', [self.clientId]);
    expect((await useToken(oauth.service.baseUrl, token)).status).toBe(200);
    const [removed] = await cli('oauth', 'clients', 'remove', '--', self.clientId);
    expect(removed?.value).toEqual({ clientId: self.clientId, revoked: 1 });
    expect((await useToken(oauth.service.baseUrl, token)).status).toBe(401);
    expect((await self.refresh(refresh)).body.error).toBe('invalid_client');
  });

  it('follows the rules of registration', async () => {
    await expect(
      cli('oauth', 'clients', 'add', '--name', 'x', '--redirect-uri', 'http://evil.example/cb'),
    ).rejects.toThrow(/redirect URI/);
  });
});

describe('a client that registered itself', () => {
  it('is deleted after 30 days without a live grant, and then registers again', async () => {
    const { pool, baseUrl } = oauth.service;
    const [unused, used, fresh] = [
      await TestClient.register(baseUrl),
      await TestClient.register(baseUrl),
      await TestClient.register(baseUrl),
    ];
    const { refresh_token: token, access_token: access } = await used.tokens(oauth.browserOf(account));
    await pool.query(
      `update oauth_clients set registered_at = now() - interval '31 days' where client_id <> $1`,
      [fresh.clientId],
    );
    await unusedClients(pool).purge(1_000);
    expect((await unused.refresh('rt_x')).body.error).toBe('invalid_client');
    expect((await fresh.refresh('rt_x')).body.error).toBe('invalid_grant');
    const next = await used.refresh(token);
    expect(next.status).toBe(200);
    await used.revoke(access);
    await unusedClients(pool).purge(1_000);
    expect((await used.refresh(next.body.refresh_token)).body.error).toBe('invalid_client');
  });
});
