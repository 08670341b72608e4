import { SESSION_COOKIE } from '../../shared/http/authenticate.ts';
import type { RunningService } from './running-service.ts';

/** What a browser does for OAuth: keeps cookies, follows redirects of this service, posts the consent. */
export class OAuthBrowser {
  private readonly service: Pick<RunningService, 'baseUrl'>;
  private session: Promise<string>;
  /** By path: the cookies of the library are limited to one. */
  private readonly cookies = new Map<string, { readonly path: string; readonly value: string }>();

  constructor(service: Pick<RunningService, 'baseUrl'>, session: Promise<string>) {
    this.service = service;
    this.session = session;
  }

  signIn(session: Promise<string>): void {
    this.session = session;
  }

  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const target = new URL(url, this.service.baseUrl);
    this.cookies.set(`${SESSION_COOKIE} /`, { path: '/', value: await this.session });
    const answer = await fetch(target, {
      redirect: 'manual',
      ...init,
      headers: { Cookie: this.cookieHeader(target.pathname), ...(init.headers as Record<string, string>) },
    });
    for (const line of answer.headers.getSetCookie()) this.keep(line);
    return answer;
  }

  /** @returns the id in the address of the consent page */
  async start(authorizationUrl: string | URL): Promise<string> {
    const answer = await this.fetch(authorizationUrl);
    const location = answer.headers.get('location') ?? '';
    const [, uid] = /^\/console\/oauth\/([\w-]+)$/.exec(location) ?? [];
    if (uid === undefined) {
      throw new Error(`no consent page but ${answer.status} ${location} ${await answer.text()}`);
    }
    return uid;
  }

  async decide(
    uid: string,
    decision: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.fetch(`/api/console/oauth/${uid}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Origin: new URL(this.service.baseUrl).origin,
        ...headers,
      },
      body: JSON.stringify(decision),
    });
  }

  /** The whole way. @returns where the client receives the code, or the error */
  async authorize(authorizationUrl: string | URL, decision: object = { decision: 'allow' }): Promise<URL> {
    const decided = await this.decide(await this.start(authorizationUrl), decision);
    const body = (await decided.json()) as { data: { redirectTo: string } | null };
    if (body.data === null) throw new Error(`no consent: ${JSON.stringify(body)}`);
    const resumed = await this.fetch(body.data.redirectTo);
    const location = resumed.headers.get('location');
    if (location === null) throw new Error(`no redirect: ${resumed.status} ${await resumed.text()}`);
    return new URL(location);
  }

  private cookieHeader(path: string): string {
    return [...this.cookies]
      .filter(
        ([, cookie]) => path === cookie.path || cookie.path === '/' || path.startsWith(`${cookie.path}/`),
      )
      .map(([name, { value }]) => `${name.split(' ')[0]}=${value}`)
      .join('; ');
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/; ?/);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = attributes.find((one) => one.startsWith('path='))?.slice(5) ?? '/';
    const key = `${name} ${path}`;
    if (value === '') this.cookies.delete(key);
    else this.cookies.set(key, { path, value });
  }
}
