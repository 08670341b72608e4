import { randomUUID } from 'node:crypto';
import { insertLink, newLinkToken } from '../../command/accounts/one-time-links.ts';
import { untilDefinite, type ApiAnswer, type ApiEnvelope } from './api-client.ts';
import type { RunningService } from './running-service.ts';

type Headers = Readonly<Record<string, string>>;

const COOKIE = '__Host-sc_session';

/** A browser of one person: keeps the cookie, and names its origin as browsers do. */
export class Person {
  private readonly baseUrl: string;
  /** Undefined: signed out. */
  cookie: string | undefined;

  constructor({ baseUrl }: Pick<RunningService, 'baseUrl'>, cookie?: string) {
    this.baseUrl = baseUrl;
    this.cookie = cookie;
  }

  get<Data = unknown>(path: string, headers: Headers = {}): Promise<ApiAnswer<Data>> {
    return this.send('GET', path, undefined, headers);
  }

  post<Data = unknown>(path: string, body?: unknown, headers: Headers = {}): Promise<ApiAnswer<Data>> {
    return this.send('POST', path, body, headers);
  }

  put<Data = unknown>(path: string, body?: unknown, headers: Headers = {}): Promise<ApiAnswer<Data>> {
    return this.send('PUT', path, body, headers);
  }

  delete<Data = unknown>(path: string, headers: Headers = {}): Promise<ApiAnswer<Data>> {
    return this.send('DELETE', path, undefined, headers);
  }

  private async send<Data>(
    method: string,
    path: string,
    body: unknown,
    headers: Headers,
  ): Promise<ApiAnswer<Data>> {
    const answer = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        Origin: new URL(this.baseUrl).origin,
        ...(this.cookie === undefined ? {} : { Cookie: `${COOKIE}=${this.cookie}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const line of answer.headers.getSetCookie()) this.keep(line);
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: (text === '' ? {} : JSON.parse(text)) as ApiEnvelope<Data>,
    };
  }

  private keep(line: string): void {
    const [, value = ''] = new RegExp(`^${COOKIE}=([^;]*);`).exec(line) ?? [];
    this.cookie = value === '' ? undefined : value;
  }
}

export const GOOD_PASSWORD = 'nine purple walruses';

export interface SignedUp {
  readonly person: Person;
  readonly email: string;
  readonly userId: string;
  readonly customerId: number;
}

let people = 0;

/** Where addresses are not verified. */
export const signUp = async (
  service: RunningService,
  email = `person-${process.pid}-${(people += 1)}@example.test`,
): Promise<SignedUp> => {
  const person = new Person(service);
  const body = { email, password: GOOD_PASSWORD, company: 'Acme Tools' };
  const once = { 'Idempotency-Key': randomUUID() };
  // A busy machine may answer 503.
  const answer = await untilDefinite(() =>
    person.post<{ userId: string; customerId: number }>('/auth/signup', body, once),
  );
  if (answer.status !== 201) throw new Error(`no sign-up: ${answer.text}`);
  return { person, email, ...answer.body.data };
};

/** @returns the answer; the person's cookie is then that of the new session */
export const signIn = (
  person: Person,
  email: string,
  password = GOOD_PASSWORD,
  more: { readonly code?: string } = {},
): Promise<ApiAnswer<{ userId: string; customerId: number }>> =>
  person.post('/auth/sign-in', { email, password, ...more });

/** A user's first sign-in, with an operator's link. */
export const setUpByLink = async (
  service: RunningService,
  customerId: number,
  userId: string,
  email: string,
): Promise<Person> => {
  const token = newLinkToken();
  await insertLink(service.pool, token, { purpose: 'set-up', customerId, userId, validMs: 60_000 });
  const person = new Person(service);
  const answer = await person.post('/auth/set-up', { token, email, password: GOOD_PASSWORD });
  if (answer.status !== 201) throw new Error(`no set-up: ${answer.text}`);
  return person;
};
