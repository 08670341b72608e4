import { OAuthBrowser } from '../../support/oauth-browser.ts';
import { TestClient } from '../../support/oauth-service.ts';
import { rawRequest } from '../http-load.ts';
import { alternateAmong, lineOf, type Line } from '../measure.ts';
import { startOwnService } from '../stage.ts';
import { advertisersPath, rate } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

const CONNECTIONS = 32;
const GOAL = 1.1;
/** Many short measurements, so that other load on the machine affects all credentials equally. */
const SHORT_ROUNDS = 5;

type Headers = Readonly<Record<string, string>>;

interface CredentialsOfOneUser {
  readonly 'API key': Headers;
  readonly 'access token': Headers;
  readonly 'session cookie': Headers;
}

/** A person who signs up, issues an API key and lets an OAuth client in. */
const credentialsOf = async (baseUrl: string): Promise<CredentialsOfOneUser> => {
  const post = (path: string, body: object, headers: Headers = {}): Promise<Response> =>
    fetch(baseUrl + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: baseUrl, ...headers },
      body: JSON.stringify(body),
    });
  const signedUp = await post('/auth/signup', {
    email: 'bench@bench.example',
    password: 'correct horse battery staple',
    company: 'Credentials',
  });
  const cookie = signedUp.headers.getSetCookie()[0]?.split(';')[0];
  if (signedUp.status !== 201 || cookie === undefined) throw new Error(`sign-up answered ${signedUp.status}`);
  const issued = await post('/api/v2/buyer/api-keys', { name: 'Bench' }, { Cookie: cookie });
  const { data } = (await issued.json()) as { data: { key: string } | null };
  if (data === null) throw new Error(`the key was answered ${issued.status}`);
  const client = await TestClient.register(baseUrl);
  const secret = cookie.slice(cookie.indexOf('=') + 1);
  const { access_token: token } = await client.tokens(new OAuthBrowser({ baseUrl }, Promise.resolve(secret)));
  return {
    'API key': { Authorization: `Bearer ${data.key}` },
    'access token': { Authorization: `Bearer ${token}` },
    'session cookie': { Cookie: cookie },
  };
};

/** The time of a read with an access token and with a session cookie, against the same with an API key. */
export const credentialCosts: Scenario = async (bench: Bench) => {
  const { service } = await startOwnService(bench);
  const credentials = await credentialsOf(`http://127.0.0.1:${service.port}`);
  const usOf = (headers: Headers) => {
    const request = rawRequest('GET', `${advertisersPath}?take=50`, headers);
    return async (): Promise<number> =>
      1e6 / (await rate(service.port, CONNECTIONS, bench.seconds / SHORT_ROUNDS, () => request));
  };
  const kinds = ['access token', 'session cookie'] as const;
  const key = usOf(credentials['API key']);
  await key();
  const measured = await alternateAmong(
    bench.rounds * SHORT_ROUNDS,
    kinds.map((kind) => usOf(credentials[kind])),
    [key],
  );
  return kinds.map((kind, n): Line =>
    lineOf({
      name: `GET list of 50 with ${kind === 'access token' ? 'an' : 'a'} ${kind}`,
      unit: 'us',
      ...measured(n, 0),
      baselineName: 'with an API key',
      goal: GOAL,
      atMost: true,
    }),
  );
};
