import type { InvitationResource } from '../../domain/accounts/resource.ts';
import type { ApiAnswer } from './api-client.ts';
import { GOOD_PASSWORD, Person, type SignedUp } from './person.ts';
import { readOutbox } from './read-mail.ts';
import type { RunningService } from './running-service.ts';
import { until } from './until.ts';

export const invitations = '/api/v2/accounts/current/invitations';
export const members = '/api/v2/accounts/current/members';

/** @returns the token of the link in the mail of the invitation */
export const invitationToken = async (service: RunningService, invitationId: string): Promise<string> => {
  let text = '';
  await until(async () => {
    text = (await readOutbox(service.dataDir)).get(invitationId)?.text ?? '';
    return text !== '';
  });
  const [, token] = /\/console\/invitation#token=([\w-]{43})/.exec(text) ?? [];
  if (token === undefined) throw new Error(`no link in the mail: ${text}`);
  return token;
};

export const invite = async (
  { person }: Pick<SignedUp, 'person'>,
  email: string,
  role = 'member',
): Promise<InvitationResource> => {
  const answer = await person.post<InvitationResource>(invitations, { email, role });
  if (answer.status !== 201) throw new Error(`not invited: ${answer.text}`);
  return answer.body.data;
};

export const accept = (
  person: Person,
  token: string,
  rest: { readonly name?: string; readonly password?: string } = {},
): Promise<ApiAnswer<{ userId: string; customerId: number }>> =>
  person.post('/auth/invitations/accept', { token, name: 'Mo', password: GOOD_PASSWORD, ...rest });

/** A further user of the account of `admin`, signed in. */
export const addMember = async (
  service: RunningService,
  admin: Pick<SignedUp, 'person'>,
  email: string,
  role = 'member',
): Promise<SignedUp> => {
  const { id } = await invite(admin, email, role);
  const person = new Person(service);
  const answer = await accept(person, await invitationToken(service, id));
  if (answer.status !== 201) throw new Error(`not accepted: ${answer.text}`);
  return { person, email, ...answer.body.data };
};
