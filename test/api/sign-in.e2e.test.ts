import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { GOOD_PASSWORD, Person, signIn, signUp } from '../support/person.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

it('a person signs up, calls the API with the cookie, signs out and in again', async () => {
  const { person, email, userId, customerId } = await signUp(service);
  const me = await person.get('/api/v2/accounts/current/user');
  expect([me.status, me.body.data]).toEqual([
    200,
    {
      id: userId,
      name: 'Administrator',
      email,
      emailVerified: false,
      role: 'admin',
      totp: { enabled: false, lookupCodesLeft: 0 },
    },
  ]);
  expect((await person.get('/api/v2/buyer/advertisers')).status).toBe(200);
  const cookie = person.cookie;
  expect((await person.post('/auth/sign-out')).status).toBe(204);
  expect(person.cookie).toBeUndefined();
  expect((await new Person(service, cookie).get('/api/v2/accounts/current/user')).status).toBe(401);
  const again = await signIn(person, email, GOOD_PASSWORD);
  expect([again.status, again.body.data]).toEqual([200, { userId, customerId }]);
  expect((await person.get('/api/v2/accounts/current/sessions')).body.data).toMatchObject([
    { isCurrent: true, method: 'password' },
  ]);
});
