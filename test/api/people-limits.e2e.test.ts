import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** Each limit has another figure here, so that the headers of an answer tell which one counted the request. */
const settings = {
  LIMIT_ADDRESS: '1001/60',
  LIMIT_AUTH: '1002/900',
  LIMIT_SIGN_UP: '1003/3600',
  LIMIT_PASSWORD_RESET: '1004/3600',
  LIMIT_CLIENT_REGISTRATION: '1005/3600',
  LIMIT_TOKEN: '1006/900',
};

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService(settings);
});
afterAll(() => service.stop());

const limitOf = async (method: string, path: string): Promise<string> => {
  const answer = await fetch(service.baseUrl + path.replaceAll(/\{\w+\}/g, '1'), {
    method,
    redirect: 'manual',
  });
  await answer.arrayBuffer();
  const limit = `${answer.headers.get('ratelimit-limit')}/`;
  const name = Object.entries(settings).find(([, value]) => value.startsWith(limit))?.[0];
  return name ?? 'none';
};

it('the routes of people and their apps are counted by these limits', async () => {
  const { paths } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
    paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const counted: Record<string, string> = {};
  for (const [path, item] of Object.entries(paths)) {
    if (!/^\/(?:auth|authorize|api\/console)(?:\/|$)/.test(path)) continue;
    for (const method of Object.keys(item)) {
      const name = method.toUpperCase();
      counted[`${name} ${path}`] = await limitOf(name, path);
    }
  }
  expect(counted).toEqual({
    'POST /auth/sign-in': 'LIMIT_AUTH',
    'POST /auth/sign-out': 'LIMIT_AUTH',
    'POST /auth/password': 'LIMIT_AUTH',
    'POST /auth/set-up': 'LIMIT_AUTH',
    'POST /auth/invitations/accept': 'LIMIT_AUTH',
    'POST /auth/signup': 'LIMIT_SIGN_UP',
    'POST /auth/verify-email': 'LIMIT_SIGN_UP',
    'POST /auth/password-reset/request': 'LIMIT_PASSWORD_RESET',
    'POST /auth/password-reset/verify': 'LIMIT_PASSWORD_RESET',
    'POST /auth/password-reset/reset': 'LIMIT_PASSWORD_RESET',
    'POST /auth/register': 'LIMIT_CLIENT_REGISTRATION',
    'POST /auth/token': 'LIMIT_TOKEN',
    'OPTIONS /auth/token': 'LIMIT_ADDRESS',
    'OPTIONS /auth/revoke': 'LIMIT_ADDRESS',
    'POST /auth/revoke': 'LIMIT_TOKEN',
    'GET /authorize': 'LIMIT_ADDRESS',
    'GET /authorize/{uid}': 'LIMIT_ADDRESS',
    'GET /api/console/oauth/{uid}': 'LIMIT_ADDRESS',
    'POST /api/console/oauth/{uid}': 'LIMIT_ADDRESS',
  });
});

it.each([
  ['GET', '/auth/unknown', 'LIMIT_AUTH'],
  ['GET', '/auth/sign-in', 'LIMIT_AUTH'],
  ['OPTIONS', '/auth/sign-in', 'LIMIT_ADDRESS'],
  ['OPTIONS', '/auth/register', 'LIMIT_ADDRESS'],
])('%s %s is counted by %s', async (method, path, limit) => {
  expect(await limitOf(method, path)).toBe(limit);
});
