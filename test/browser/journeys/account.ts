import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { addMember } from '../../support/invited.ts';
import { GOOD_PASSWORD, Person, type SignedUp } from '../../support/person.ts';
import { until } from '../../support/until.ts';
import { problemsOf, untilTrue } from '../console-checks.ts';
import { arrive, fillIn, MARKUP, newAddress, PASSWORD, type ConsoleJourney } from '../console-journey.ts';
import { chooseInMenu, press, tabTo, type } from '../keyboard.ts';
import { startOtherOrigin, type OtherOrigin } from '../other-origin.ts';
import { codeOf } from './entry.ts';

/** Who has access to the account: sessions, API keys, connected apps, browser origins; and pages of other origins. */

export const accountPages = async ({ person, userId }: SignedUp): Promise<readonly string[]> => {
  const key = await person.post<{ id: string }>('/api/v2/buyer/api-keys', {
    name: MARKUP,
    scopes: ['exchange:read', 'exchange:write', 'exchange:admin'],
  });
  await person.post('/api/v2/accounts/current/invitations', {
    email: `${'w'.repeat(60)}-${userId}@acme.example`,
    role: 'member',
  });
  return [
    '/members',
    '/members?tab=invitations',
    `/members/${userId}`,
    '/api-keys',
    `/api-keys/${key.body.data.id}`,
    '/connected-apps',
    '/browser-origins',
    '/account',
    '/account?tab=security',
    '/account?tab=sessions',
  ];
};

export const accountJourneys = ({ service, open, signedIn, goTo, takeProblems }: ConsoleJourney): void => {
  let other: OtherOrigin;
  beforeAll(async () => {
    other = await startOtherOrigin();
  });
  afterAll(() => other.stop());

  const confirm = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('dialog').getByRole('button', { name }).click();
  };
  const confirmByKeyboard = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('dialog').waitFor();
    await untilTrue(page, `document.activeElement.textContent === 'Cancel'`);
    await press(page, name);
  };
  const statusWith = async (key: string): Promise<number> =>
    (
      await fetch(`${service().baseUrl}/api/v2/buyer/advertisers`, {
        headers: { Authorization: `Bearer ${key}` },
      })
    ).status;

  it('an API key: created with scopes, shown once, used, and revoked', async () => {
    const { page } = await signedIn();
    await goTo(page, '/console/api-keys');
    await page.getByRole('button', { name: 'New API key' }).first().click();
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByLabel('exchange:write').check();
    await page.getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByLabel('API key', { exact: true }).last().textContent()) ?? '';
    await page.getByRole('button', { name: 'I have kept it' }).click();
    expect(await statusWith(key)).toBe(200);
    await page.getByRole('link', { name: MARKUP }).click();
    await page.getByText('exchange:write').waitFor();
    expect(await page.getByText('exchange:admin').count()).toBe(0);
    expect(await page.getByText(key).count()).toBe(0);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('ApiKeyIssued').first().waitFor();
    await page.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByText('is refused from its next request on').waitFor();
    await confirm(page, 'Revoke');
    await page.getByText('REVOKED', { exact: true }).first().waitFor();
    expect(await statusWith(key)).toBe(401);
    expect(await page.title()).not.toBe('ran');
  });

  it('a changed password ends the other sessions; a person ends one of theirs', async () => {
    const { page, user } = await signedIn();
    const second = await open({ userAgent: 'The second browser' });
    const signInThere = async (password: string): Promise<void> => {
      await goTo(second, '/console/sign-in');
      await fillIn(second, { email: user.email, password });
      await arrive(second);
    };
    await signInThere(GOOD_PASSWORD);
    await goTo(page, '/console/account?tab=sessions');
    await page.getByRole('button', { name: 'End The second browser' }).click();
    await confirm(page, 'End');
    await page.getByRole('row', { name: /The second browser/ }).waitFor({ state: 'hidden' });
    await second.reload();
    await second.waitForURL('**/console/sign-in?*');
    await signInThere(GOOD_PASSWORD);
    await page.getByRole('tab', { name: 'Password' }).click();
    await fillIn(page, { currentPassword: GOOD_PASSWORD, newPassword: 'another horse battery' });
    await page.getByText('Your password is changed.').waitFor();
    await second.reload();
    await second.waitForURL('**/console/sign-in?*');
    await page.reload();
    await page.getByRole('tab', { name: 'Sessions' }).click();
    await page.getByText('This browser').waitFor();
  });

  it('an admin registers an origin, whose pages may then call with a key, and removes it', async () => {
    const { page, user } = await signedIn();
    const issued = await user.person.post<{ key: string }>('/api/v2/buyer/api-keys', { name: 'App' });
    const app = await open();
    await app.goto(other.url);
    const callFromApp = (): Promise<unknown> =>
      app.evaluate(`fetch('${service().baseUrl}/api/v2/buyer/advertisers',
        { headers: { Authorization: 'Bearer ${issued.body.data.key}' } })
        .then((answer) => answer.status, () => 'refused')`);
    expect(await callFromApp()).toBe('refused');
    await goTo(page, '/console/browser-origins');
    await page.getByRole('button', { name: 'Register an origin' }).first().click();
    await fillIn(page, { origin: other.url });
    await page.getByRole('link', { name: other.url }).waitFor();
    expect(await callFromApp()).toBe(200);
    await page.getByRole('button', { name: `Remove ${other.url}` }).click();
    await confirm(page, 'Remove');
    await page.getByText('No page of another origin may call the API.').waitFor();
    expect(await callFromApp()).toBe('refused');
  });

  const b64url = (bytes: Buffer): string => bytes.toString('base64url');
  const post = (path: string, body: object | URLSearchParams): Promise<Response> =>
    fetch(service().baseUrl + path, {
      method: 'POST',
      ...(body instanceof URLSearchParams
        ? { body }
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });

  interface Tokens {
    readonly access_token: string;
    readonly scope: string;
  }

  /** Registers a client. @returns where it sends a person, and how it gets its tokens afterwards */
  const newClient = async (name: string, scope: string) => {
    const redirectUri = `${other.url}/callback`;
    const registered = await post('/auth/register', { client_name: name, redirect_uris: [redirectUri] });
    expect(registered.status).toBe(201);
    const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
    const verifier = b64url(randomBytes(32));
    const resource = `${service().baseUrl}/api/v2/buyer`;
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state: 'its-state',
      resource,
      code_challenge: b64url(createHash('sha256').update(verifier).digest()),
      code_challenge_method: 'S256',
    });
    const redeem = async (code: string): Promise<Tokens> => {
      const answer = await post(
        '/auth/token',
        new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          client_id: clientId,
          code_verifier: verifier,
          resource,
        }),
      );
      const body = (await answer.json()) as Tokens;
      expect({ status: answer.status, body }).toEqual({ status: 200, body: expect.any(Object) });
      return body;
    };
    return { authorizePath: `/authorize?${query.toString()}`, redeem };
  };

  it('an OAuth client gets the access that a person allows after a sign-in, until they revoke it', async () => {
    const { user } = await signedIn();
    const page = await open();
    const client = await newClient(MARKUP, 'exchange:read exchange:write');
    await goTo(page, client.authorizePath);
    await page.waitForURL('**/console/sign-in?next=*');
    const created = page.getByRole('link', { name: 'Create an account' });
    expect(await created.getAttribute('href')).toMatch(/^\/console\/sign-up\?next=%2Fconsole%2Foauth%2F/);
    await fillIn(page, { email: user.email, password: GOOD_PASSWORD });
    await page.waitForURL('**/console/oauth/*');
    await page.getByText(MARKUP).first().waitFor();
    await page.getByText('unverified').waitFor();
    await page.getByText('registered itself just now').waitFor();
    await page.getByText(new URL(other.url).host).waitFor();
    expect(await problemsOf(page, 'consent')).toEqual([]);
    await tabTo(page, 'Create and change campaigns');
    await page.keyboard.press('Space');
    await press(page, 'Allow');
    await page.waitForURL(`${other.url}/callback?*`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['its-state', service().baseUrl]);
    const { access_token: token, scope } = await client.redeem(searchParams.get('code') ?? '');
    expect(scope.split(' ')).toContain('exchange:read');
    expect(scope.split(' ')).not.toContain('exchange:write');
    expect(await statusWith(token)).toBe(200);

    await goTo(page, '/console/connected-apps');
    await page.getByRole('link', { name: MARKUP }).click();
    await page.getByText('exchange:read').waitFor();
    await page.getByText('unknown: the app chose its name itself').waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('OAuthClientAuthorized').first().waitFor();
    await goTo(page, '/console/connected-apps');
    await page.getByRole('button', { name: /^Revoke/ }).waitFor();
    await press(page, 'Revoke');
    await confirmByKeyboard(page, 'Revoke');
    await page.getByText('No app has access.').waitFor();
    expect(await statusWith(token)).toBe(401);
    expect(await page.title()).not.toBe('ran');
  }, 60_000);

  it('an OAuth client that a person denies gets an error, and nothing else; another person cannot decide', async () => {
    const { page } = await signedIn();
    const client = await newClient('Reporting', 'exchange:read');
    await goTo(page, client.authorizePath);
    const deny = page.getByRole('button', { name: 'Deny' });
    await deny.waitFor();
    const stranger = await signedIn();
    await stranger.page.goto(page.url());
    await stranger.page.getByRole('alert').waitFor();
    expect(await stranger.page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    await deny.click();
    await page.waitForURL(`${other.url}/callback?*`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['access_denied', null]);
  });

  it('with the keyboard alone: an API key, an invitation, and an origin', async () => {
    const { page } = await signedIn();
    await goTo(page, '/console');
    await arrive(page);
    await press(page, 'API keys');
    await page.getByText('No program has a key yet.').waitFor();
    await press(page, 'New API key');
    await page.getByRole('dialog').waitFor();
    await type(page, 'Name', 'By keyboard');
    await tabTo(page, 'exchange:write');
    await page.keyboard.press('Space');
    await press(page, 'Create');
    await page.getByRole('button', { name: 'I have kept it' }).waitFor();
    await untilTrue(page, `document.activeElement.textContent === 'Copy it'`);
    await press(page, 'I have kept it');
    await page.getByRole('link', { name: 'By keyboard' }).waitFor();
    await press(page, 'By keyboard');
    await page.getByText('exchange:write').waitFor();
    await tabTo(page, 'Overview');
    await page.keyboard.press('ArrowRight');
    await page.getByText('ApiKeyIssued').first().waitFor();
    await press(page, 'Skip to the content');
    await press(page, 'Revoke');
    await confirmByKeyboard(page, 'Revoke');
    await page.getByText('REVOKED', { exact: true }).first().waitFor();

    await press(page, 'Skip to the content');
    await press(page, 'Members');
    await page.getByRole('button', { name: 'Invite a person' }).waitFor();
    await press(page, 'Invite a person');
    await untilTrue(page, `document.activeElement.name === 'email'`);
    const email = newAddress();
    await page.keyboard.type(email);
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: new RegExp(`^${email} member OPEN`) }).waitFor();
    await press(page, 'Revoke');
    await confirmByKeyboard(page, 'Revoke');
    await page.getByRole('row', { name: new RegExp(`^${email}`) }).waitFor({ state: 'hidden' });

    await press(page, 'Skip to the content');
    await press(page, 'Browser origins');
    await page.getByText('No page of another origin may call the API.').waitFor();
    await press(page, 'Register an origin');
    await untilTrue(page, `document.activeElement.name === 'origin'`);
    await page.keyboard.type('https://app.acme.example');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'https://app.acme.example' }).waitFor();
    await press(page, 'Remove');
    await confirmByKeyboard(page, 'Remove');
    await page.getByText('No page of another origin may call the API.').waitFor();
  }, 60_000);

  it('with the keyboard alone: a member becomes an admin, and is removed', async () => {
    const { page, user } = await signedIn();
    await addMember(service(), user, newAddress());
    await goTo(page, '/console/members');
    await page.getByRole('link', { name: 'Mo' }).waitFor();
    await press(page, 'Mo');
    await page.getByRole('heading', { name: 'Mo' }).waitFor();
    await tabTo(page, 'Role');
    await page.keyboard.type('admin');
    await page.getByRole('main').locator('h1 ~ *').getByText('admin', { exact: true }).waitFor();
    await untilTrue(page, `document.activeElement.getAttribute('aria-label') === 'Role'`);
    await tabTo(page, 'Overview');
    await page.keyboard.press('ArrowRight');
    await page.getByText('UserRoleChanged').first().waitFor();
    await press(page, 'Skip to the content');
    await press(page, 'Remove');
    await confirmByKeyboard(page, 'Remove');
    await page.getByText('1 member').waitFor();
  }, 60_000);

  it('with the keyboard alone: sessions, a password, an authenticator app, and the sign-out', async () => {
    const { page, user } = await signedIn();
    const signInElsewhere = (agent: string) =>
      new Person(service()).post(
        '/auth/sign-in',
        { email: user.email, password: GOOD_PASSWORD },
        { 'User-Agent': agent },
      );
    for (const agent of ['The second browser', 'The third browser']) await signInElsewhere(agent);
    await goTo(page, '/console');
    await arrive(page);
    await press(page, 'Your account');
    await page.getByRole('tab', { name: 'Sessions' }).waitFor();
    await untilTrue(page, `document.activeElement.tagName === 'H1'`);
    await tabTo(page, 'You');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByText('This browser').waitFor();
    await press(page, 'End The second browser');
    await confirmByKeyboard(page, 'End');
    await page.getByRole('row', { name: /The second browser/ }).waitFor({ state: 'hidden' });
    await press(page, 'End all other sessions');
    await confirmByKeyboard(page, 'End all other sessions');
    await page.getByRole('row', { name: /The third browser/ }).waitFor({ state: 'hidden' });

    await press(page, 'Skip to the content');
    await tabTo(page, 'Sessions');
    await page.keyboard.press('ArrowLeft');
    await type(page, 'Current password', GOOD_PASSWORD);
    await type(page, 'New password', PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('Your password is changed.').waitFor();
    await tabTo(page, 'Change the password');
    await type(page, 'Password', PASSWORD);
    await page.keyboard.press('Enter');
    const key = (await page.getByLabel('The key, for the app').textContent()) ?? '';
    await type(page, 'Code that the app shows', codeOf(key));
    await page.keyboard.press('Enter');
    const codes = page.getByRole('list', { name: 'Lookup codes' }).getByRole('listitem');
    await codes.nth(9).waitFor();
    const [lookupCode = ''] = await codes.allTextContents();
    await tabTo(page, 'Change the password');
    await type(page, 'Password', PASSWORD);
    await type(page, 'Code of your authenticator app', lookupCode);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Set up' }).waitFor();

    await press(page, 'You: ');
    await chooseInMenu(page, 'Sign out');
    await page.waitForURL('**/console/sign-in');
  }, 60_000);

  // The service as it is reached by default, without https.
  it.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['exchange.test', false],
  ])('Chromium keeps a cookie like that of a session for http://%s: %s', async (host, isKept) => {
    const page = await open();
    await page.goto(`${other.url.replace('127.0.0.1', host)}/cookie`);
    const kept = (await page.context().cookies()).map(({ name, domain }) => [name, domain]);
    expect(kept).toEqual(isKept ? [['__Host-probe', host]] : []);
  });

  /** What a page of another origin gets: with the cookie of a page of the same site, and without. */
  const attacks = [
    ['/api/v2/buyer/advertisers', 403, 401],
    ['/auth/sign-out', 403, 401],
    ['/auth/password', 403, 401],
    // They need no session, but would set one: a person would work in the account of the attacker.
    ['/auth/sign-in', 403, 403],
    ['/auth/signup', 403, 403],
  ] as const;
  const call = (page: Page, where: string) =>
    page.evaluate<unknown>(`fetch(${JSON.stringify(where)}).then((answer) => answer.json())`);

  it.each([
    ['with the cookie', '127.0.0.1'],
    ['of another site', 'localhost'],
  ])(
    'a page of another origin, %s, changes nothing',
    async (_, host) => {
      const { page } = await signedIn();
      await goTo(page, '/console');
      await arrive(page);
      const state = async () => [
        await call(page, '/api/v2/buyer/advertisers'),
        (await page.context().cookies()).map(({ name, value }) => [name, value]),
      ];
      const before = await state();
      const origin = other.url.replace('127.0.0.1', host);
      const body =
        '{"name":"stolen","company":"Stolen","email":"thief@acme.example","password":"correct horse battery"}';
      const answers: (readonly [string, number])[] = [];
      const openThere = async (): Promise<Page> => {
        const attacker = await page.context().newPage();
        await attacker.goto(origin);
        attacker.on('response', (response) => {
          const { origin: from, pathname } = new URL(response.url());
          if (from === service().baseUrl) answers.push([pathname, response.status()]);
        });
        return attacker;
      };
      const attacker = await openThere();
      const fetchThere = (path: string, init: string): Promise<unknown> =>
        attacker.evaluate(`fetch('${service().baseUrl}${path}', { credentials: 'include', ${init} })
        .then(() => 'answered', () => 'refused')`);
      for (const [path] of attacks) {
        // Neither this nor the form, JSON with the type `text/plain`, needs a preflight.
        const plain = `method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '${body}'`;
        expect(await fetchThere(path, plain)).toBe('answered');
        const json = `method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '${body}'`;
        expect(await fetchThere(path, json)).toBe('refused');
        const form = await openThere();
        const arrived = form.waitForURL(service().baseUrl + path);
        await form.evaluate(`{
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', enctype: 'text/plain', action: '${service().baseUrl}${path}' });
        const input = document.createElement('input');
        form.append(Object.assign(input, { name: '${body.replace('}', '')},"x":"', value: '"}' }));
        document.body.append(form);
        form.submit();
      }`);
        await arrived;
        await form.close();
      }
      expect(answers).toEqual(
        attacks.flatMap(([path, sameSite, otherSite]) => {
          const answer = [path, host === '127.0.0.1' ? sameSite : otherSite];
          return [answer, answer];
        }),
      );
      // A read of the same site carries the cookie, but its answer cannot be read.
      expect(await fetchThere('/api/v2/accounts/current', '')).toBe('refused');
      // The consent, like every page of the console, shows nothing in a frame.
      const frames = await openThere();
      await frames.setContent(`<iframe src="${service().baseUrl}/console/oauth/abc"></iframe>`);
      await until(async () => takeProblems().some((problem) => problem.includes('frame-ancestors')));
      expect(await state()).toEqual(before);
      await page.reload();
      await arrive(page);
    },
    60_000,
  );
};
