import type { Installation } from '../../app/installation.ts';
import { createUser } from '../../cli/operate-accounts.ts';
import { issueLink } from '../../cli/operate-users.ts';
import { OAuthBrowser } from '../support/oauth-browser.ts';
import { TestClient } from '../support/oauth-service.ts';
import { GOOD_PASSWORD, Person, signIn } from '../support/person.ts';

const SESSIONS = 5;
const GRANTS = 4;

export interface SignedInPerson {
  /** The value of the header `Cookie`. */
  readonly cookie: string;
  readonly secret: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** The first user of an account with a login, further sessions to end, and apps to revoke. */
export const signInPerson = async (
  installation: Installation,
  baseUrl: string,
  customerId: number,
): Promise<SignedInPerson> => {
  const userId = `${customerId}-1`;
  const email = `person-${customerId}@fuzz.example`;
  const { token } = await issueLink(installation, { customerId, userId });
  const person = new Person({ baseUrl });
  const answer = await person.post('/auth/set-up', { token, email, password: GOOD_PASSWORD });
  const { cookie: secret } = person;
  if (answer.status !== 201 || secret === undefined) throw new Error(`no login: ${answer.text}`);
  const listed = await person.get<readonly { id: string }[]>('/api/v2/accounts/current/sessions');
  const sessionId = listed.body.data[0]?.id;
  if (sessionId === undefined) throw new Error(`no session: ${listed.text}`);
  for (let n = 0; n < SESSIONS; n += 1) await signIn(new Person({ baseUrl }), email);
  for (let n = 0; n < GRANTS; n += 1) {
    const client = await TestClient.register(baseUrl);
    await client.tokens(new OAuthBrowser({ baseUrl }, Promise.resolve(secret)));
  }
  return { cookie: `__Host-sc_session=${secret}`, secret, userId, sessionId };
};

/** @returns the ids of further users, which may be changed and removed */
export const addUsers = async (
  installation: Installation,
  customerId: number,
  count: number,
): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    ids.push(await createUser(installation, customerId, { name: `Mo ${n}`, role: 'member' }));
  }
  return ids;
};
