import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createUser } from '../../cli/operate-accounts.ts';
import type { Replacements } from '../../app/service.ts';
import type { Role } from '../../domain/accounts/access.ts';
import { insertSession } from '../../command/accounts/session-rows.ts';
import { createLog } from '../../app/log.ts';
import { OAuthBrowser } from './oauth-browser.ts';
import { startRunningService, type RunningService, type TestAccount } from './running-service.ts';

export interface OAuthService {
  readonly service: RunningService;
  /** @returns the secret of a new session */
  signIn(userId: string): Promise<string>;
  /** A signed-in browser of the first user of the account, or of another one. */
  browserOf(account: TestAccount, userId?: string): OAuthBrowser;
  addUser(account: TestAccount, role: Role): Promise<string>;
}

export const startOAuthService = async (
  settings: Readonly<Record<string, string>> = {},
  replace: Replacements = {},
  log = createLog('silent'),
): Promise<OAuthService> => {
  const service = await startRunningService(settings, log, replace);
  const signIn = async (userId: string): Promise<string> => {
    const secret = randomBytes(32).toString('base64url');
    await insertSession(service.pool, {
      customerId: Number(userId.split('-')[0]),
      userId,
      sessionId: randomUUID(),
      secretHash: createHash('sha256').update(secret).digest(),
      method: 'password',
      startedAt: new Date().toISOString(),
      addressPrefix: '127.0.0.1',
      agent: undefined,
    });
    return secret;
  };
  return {
    service,
    signIn,
    browserOf: ({ customerId }, userId = `${customerId}-1`) => new OAuthBrowser(service, signIn(userId)),
    addUser: ({ customerId }, role) => createUser(service.installation, customerId, { name: 'Mo', role }),
  };
};

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly access_token: string;
    readonly refresh_token: string;
    readonly scope: string;
    readonly expires_in: number;
    readonly error?: string;
    readonly error_description?: string;
  };
}

export const REDIRECT_URI = 'http://127.0.0.1:4710/callback';

export const pkce = () => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

/** A public client that sends exactly what a test says. */
export class TestClient {
  readonly baseUrl: string;
  readonly clientId: string;

  constructor(baseUrl: string, clientId: string) {
    this.baseUrl = baseUrl;
    this.clientId = clientId;
  }

  static async register(baseUrl: string, metadata: object = {}): Promise<TestClient> {
    const answer = await registerClient(baseUrl, metadata);
    if (answer.status !== 201) throw new Error(`not registered: ${answer.status} ${await answer.text()}`);
    const { client_id: clientId } = (await answer.json()) as { client_id: string };
    return new TestClient(baseUrl, clientId);
  }

  /** A parameter that is undefined is left out. */
  authorizationUrl(challenge: string, changed: Readonly<Record<string, string | undefined>> = {}): string {
    return `${this.baseUrl}/authorize?${String(
      form({
        client_id: this.clientId,
        response_type: 'code',
        redirect_uri: REDIRECT_URI,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        state: 'the state',
        ...changed,
      }),
    )}`;
  }

  async authorize(browser: OAuthBrowser, changed: Readonly<Record<string, string | undefined>> = {}) {
    const { verifier, challenge } = pkce();
    const to = await browser.authorize(this.authorizationUrl(challenge, changed));
    const code = to.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${to.href}`);
    return { code, verifier, to };
  }

  async tokens(browser: OAuthBrowser, changed: Readonly<Record<string, string | undefined>> = {}) {
    const answer = await this.redeem(await this.authorize(browser, changed));
    if (answer.status !== 200) throw new Error(`no tokens: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  redeem(
    { code, verifier }: { readonly code: string; readonly verifier: string },
    changed: Readonly<Record<string, string | undefined>> = {},
    baseUrl = this.baseUrl,
  ): Promise<TokenAnswer> {
    return postForm(`${baseUrl}/auth/token`, {
      grant_type: 'authorization_code',
      client_id: this.clientId,
      redirect_uri: REDIRECT_URI,
      code,
      code_verifier: verifier,
      ...changed,
    });
  }

  refresh(
    refreshToken: string,
    changed: Readonly<Record<string, string | undefined>> = {},
  ): Promise<TokenAnswer> {
    return postForm(`${this.baseUrl}/auth/token`, {
      grant_type: 'refresh_token',
      client_id: this.clientId,
      refresh_token: refreshToken,
      ...changed,
    });
  }

  async revoke(token: string): Promise<number> {
    const answer = await fetch(`${this.baseUrl}/auth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: this.clientId, token }),
    });
    await answer.text();
    return answer.status;
  }
}

export const registerClient = (baseUrl: string, metadata: object): Promise<Response> =>
  fetch(`${baseUrl}/auth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Test app',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      ...metadata,
    }),
  });

const form = (parameters: Readonly<Record<string, string | undefined>>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
  );

export const postForm = async (
  url: string,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<TokenAnswer> => {
  const answer = await fetch(url, { method: 'POST', body: form(parameters) });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as TokenAnswer['body'],
  };
};

export const useToken = async (baseUrl: string, token: string, path = '/api/v2/buyer/advertisers') => {
  const answer = await fetch(`${baseUrl}${path}`, { headers: { Authorization: `Bearer ${token}` } });
  await answer.text();
  return answer;
};
