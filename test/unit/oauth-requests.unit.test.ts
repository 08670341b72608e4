import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientMetadata, ClientRefusedError } from '../../command/accounts/oauth/client-policy.ts';
import { hasStarted, usedCookies, withStarted } from '../../command/accounts/oauth/cookies.ts';
import {
  authorizationQuery,
  InvalidResourceError,
  tokenBody,
} from '../../command/accounts/oauth/provider-request.ts';
import { canonicalResource } from '../../command/accounts/oauth/resources.ts';

const BASE = 'https://exchange.example.com';

describe('the metadata of a client', () => {
  const of = (metadata: object) =>
    clientMetadata({ redirect_uris: ['https://app.example.com/cb'], ...metadata });

  it.each([
    ['https://app.example.com/cb', 'web'],
    ['http://127.0.0.1:4000/cb', 'native'],
    ['http://[::1]/cb', 'native'],
    ['http://localhost/cb', 'native'],
    ['com.example.app:/cb', 'native'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'native'],
  ])('with the redirect URI %s is a %s client', (uri, type) => {
    expect(of({ redirect_uris: [uri] }).application_type).toBe(type);
  });

  it('has the name of its host if it gives none, or the name of its scheme', () => {
    expect(of({}).client_name).toBe('app.example.com');
    expect(of({ redirect_uris: ['com.example.app:/cb'] }).client_name).toBe('com.example.app');
  });

  it('has no other members', () => {
    expect(Object.keys(of({ scope: 'x', jwks: {}, contacts: [], software_id: 'y' })).toSorted()).toEqual([
      'application_type',
      'client_name',
      'grant_types',
      'redirect_uris',
      'response_modes',
      'response_types',
      'token_endpoint_auth_method',
    ]);
  });

  it('is accepted or refused, for any JSON', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'redirect_uris',
            'client_name',
            'grant_types',
            'response_types',
            'application_type',
          ),
          fc.jsonValue(),
        ),
        (given) => {
          try {
            const { redirect_uris: uris } = clientMetadata(given);
            return (
              uris.length > 0 && uris.every((uri) => !/^(?:javascript|data|vbscript|blob|file):/i.test(uri))
            );
          } catch (error) {
            return error instanceof ClientRefusedError;
          }
        },
      ),
    );
  });

  it.each([
    'javascript:alert(1)',
    'vbscript:x',
    'blob:https://a.b/c',
    'file:///a.b',
    'about:blank',
    'data:a.b',
  ])('never has the redirect URI %s', (uri) => {
    expect(() => of({ redirect_uris: [uri] })).toThrow(ClientRefusedError);
  });
});

describe('resources', () => {
  it.each([
    ['', ''],
    ['/', ''],
    ['/mcp', '/mcp'],
    ['/mcp/', '/mcp'],
    ['/mcp/v3', '/mcp'],
    ['/adcp/mcp', '/mcp'],
    ['/api/v2/buyer', '/api/v2/buyer'],
    ['/api/v2/buyer/', '/api/v2/buyer'],
  ])('%j is the resource %j', (path, resource) => {
    expect(canonicalResource(BASE, `${BASE}${path}`)).toBe(`${BASE}${resource}`);
  });

  it.each([
    '/mcp//',
    '/MCP',
    '/mcp?x',
    '/mcp#x',
    '/other',
    '.evil.example/mcp',
    '@evil.example/mcp',
    'constructor',
    '__proto__',
  ])('%j is none', (path) => {
    expect(canonicalResource(BASE, `${BASE}${path}`)).toBeUndefined();
  });

  it('in a token request must be ours', () => {
    expect(tokenBody(BASE, Buffer.from(`a=b&resource=${BASE}/mcp/`)).toString()).toBe(
      new URLSearchParams({ a: 'b', resource: `${BASE}/mcp` }).toString(),
    );
    expect(() => tokenBody(BASE, Buffer.from('resource=https://other.example'))).toThrow(
      InvalidResourceError,
    );
  });
});

describe('an authorization request', () => {
  const NOW = 1_800_000_000;
  const query = (search: string) => new URLSearchParams(authorizationQuery(BASE, search, NOW * 1_000 + 999));
  const scopeOf = (search: string) => query(search).get('scope');

  it('without a scope of ours asks for all', () => {
    const all = 'exchange:read exchange:write exchange:admin exchange:review';
    expect([scopeOf(''), scopeOf('scope=openid'), scopeOf('scope=offline_access')]).toEqual([
      all,
      all,
      `offline_access ${all}`,
    ]);
  });

  it('keeps what it repeats: the library refuses it', () => {
    expect(query('scope=exchange:read&scope=exchange:admin').getAll('scope')).toEqual([
      'exchange:read',
      'exchange:admin',
    ]);
  });

  it.each([
    ['', null],
    ['prompt=consent', null],
    ['prompt=login', NOW],
    ['prompt=consent%20login', NOW],
    ['max_age=0', NOW],
    ['max_age=60', NOW - 60],
    ['max_age=600&max_age=60', NOW - 60],
    ['max_age=60&prompt=login', NOW],
    ['max_age=-1', null],
    ['max_age=1e3', null],
    ['max_age=', null],
    ['signed_in_since=1', null],
    ['signed_in_since=1&max_age=60', NOW - 60],
  ])('with %j needs a sign-in since %s', (search, since) => {
    const asked = query(search);
    expect([asked.getAll('signed_in_since'), asked.has('max_age')]).toEqual([
      since === null ? [] : [String(since)],
      false,
    ]);
  });
});

describe('cookies', () => {
  it('name the authorizations that a browser has started, the last eight', () => {
    let header = '';
    for (let n = 1; n <= 10; n += 1) {
      const { name, value } = withStarted(header, `uid-${n}`);
      header = `other=1; ${name}=${value}`;
    }
    expect([2, 3, 10].map((n) => hasStarted(header, `uid-${n}`))).toEqual([false, true, true]);
    expect([hasStarted(undefined, 'uid-1'), hasStarted(header, '')]).toEqual([false, false]);
  });

  it('of the library that nothing reads are not sent', () => {
    const kept = ['__Secure-sc_resume=1', '__Host-sc_consent=2'];
    const unused = ['__Host-sc_oauth=1', '__Host-sc_oauth.sig=2', '__Host-sc_interaction=3'];
    expect(usedCookies([...unused, ...kept])).toEqual(kept);
  });
});
