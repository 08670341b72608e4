import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { linkIn, mailTo } from '../support/outbox-link.ts';
import { exchange } from '../support/program.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { describeInChromium } from './chromium.ts';
import { startConsoleTabs, type ConsoleTabs } from './console-tabs.ts';

/** People and an OAuth client get in, through the pages and in Chromium; and pages of other origins do not. */

const PASSWORD = 'correct horse battery staple';
const COOKIE = '__Host-sc_session';
const MARKUP = `<img src=/x onerror="document.title='ran'">`;

/** RFC 6238 with the parameters of every authenticator app. @param step 30 seconds, counted from the present one */
const codeOf = (secret: string, step = 0): string => {
  const bits = (secret.match(/[A-Z2-7]/g) ?? [])
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + step));
  const digest = createHmac('sha1', key).update(counter).digest();
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
};

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describeInChromium('sign-in, in a browser', (chromiumPath) => {
  let service: RunningService;
  let tabs: ConsoleTabs;
  /** Another origin: an OAuth client's callback, and a page that attacks. */
  let other: string;
  const otherServer = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    if (request.url === '/cookie')
      response.setHeader('Set-Cookie', '__Host-probe=1; Secure; HttpOnly; Path=/; SameSite=Lax');
    response.end('<!doctype html><body>another origin');
  });
  beforeAll(async () => {
    service = await startRunningService();
    other = await listen(otherServer);
    tabs = await startConsoleTabs(chromiumPath);
    console.log(`Chromium ${tabs.version}`);
  }, 60_000);
  afterEach(async () => {
    await tabs.closeTabs();
    expect(tabs.takeProblems()).toEqual([]);
  });
  afterAll(async () => {
    await tabs.close();
    otherServer.closeAllConnections();
    otherServer.close();
    await service.stop();
  }, 60_000);

  const goTo = async (page: Page, path: string): Promise<void> => {
    await page.goto(service.baseUrl + path, { waitUntil: 'networkidle' });
  };
  const fillIn = async (page: Page, values: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, value] of Object.entries(values))
      await page.locator(`[name=${name}]:visible`).fill(value);
    await page.keyboard.press('Enter');
  };
  const arriveAtAccount = (page: Page): Promise<void> =>
    page.waitForURL(`${service.baseUrl}/console/account`);

  let people = 0;
  const newAddress = (): string => `jane-${(people += 1)}@acme.example`;
  const signUp = async (company = 'Acme'): Promise<{ readonly page: Page; readonly email: string }> => {
    const [page, email] = [await tabs.open(), newAddress()];
    await goTo(page, '/console/sign-up');
    await fillIn(page, { company, email, password: PASSWORD });
    await arriveAtAccount(page);
    await page.getByText(email).first().waitFor();
    return { page, email };
  };
  const signOut = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/console/sign-in?*');
  };
  const cookiesOf = (page: Page) => page.context().cookies();
  const call = (page: Page, where: string) =>
    page.evaluate<unknown>(`fetch(${JSON.stringify(where)}).then((answer) => answer.json())`);
  const linkOf = async (email: string, subject: string): Promise<string> =>
    linkIn(await mailTo(service, email, subject)).url;

  it('a person signs up, signs out, and signs in again; a wrong password is refused', async () => {
    const { page, email } = await signUp();
    expect(await cookiesOf(page)).toEqual([
      expect.objectContaining({
        name: COOKIE,
        // Without a dot: for this host only.
        domain: '127.0.0.1',
        path: '/',
        secure: true,
        httpOnly: true,
        sameSite: 'Lax',
      }),
    ]);
    await signOut(page);
    expect(await cookiesOf(page)).toEqual([]);
    await goTo(page, '/console/account');
    await page.waitForURL(`**/console/sign-in?next=${encodeURIComponent('/console/account')}`);
    await fillIn(page, { email, password: 'correct horse battery' });
    await page.getByRole('alert').waitFor();
    expect(await cookiesOf(page)).toEqual([]);
    await fillIn(page, { email: email.toUpperCase(), password: PASSWORD });
    await arriveAtAccount(page);
    await page.getByText('This browser').waitFor();
  });

  // The service as it is reached by default, without https.
  it.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['exchange.test', false],
  ])('Chromium keeps a cookie like that of a session for http://%s: %s', async (host, isKept) => {
    const page = await tabs.open();
    await page.goto(`${other.replace('127.0.0.1', host)}/cookie`);
    const kept = (await cookiesOf(page)).map(({ name, domain }) => [name, domain]);
    expect(kept).toEqual(isKept ? [['__Host-probe', host]] : []);
  });

  it('at localhost, another origin than the address of the service, a sign-up is refused', async () => {
    const page = await tabs.open();
    await page.goto(`${service.baseUrl.replace('127.0.0.1', 'localhost')}/console/sign-up`);
    await fillIn(page, { company: 'Acme', email: newAddress(), password: PASSWORD });
    await page.getByRole('alert').filter({ hasText: 'must come from a page of this service' }).waitFor();
    expect(await cookiesOf(page)).toEqual([]);
  });

  it('where no session can be kept, the pages ask for https and have no form', async () => {
    const page = await tabs.open();
    await page.goto(`${service.baseUrl.replace('127.0.0.1', 'exchange.test')}/console/sign-up`);
    await page.getByRole('alert').filter({ hasText: 'Open this page with https' }).waitFor();
    expect(await page.locator('form').count()).toBe(0);
  });

  it('with an authenticator app, a sign-in needs a code of it, or a lookup code once', async () => {
    const { page, email } = await signUp();
    await page.locator('[data-shows="totp"] [name=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    const secret = page.locator('#totp-secret');
    await secret.waitFor();
    const key = (await secret.textContent()) ?? '';
    expect(key).toMatch(/^(?:[A-Z2-7]{4} )+[A-Z2-7]{1,4}$/);
    expect(await page.locator('#totp a').getAttribute('href')).toContain(`secret=${key.replaceAll(' ', '')}`);
    await page.locator('#totp [name=code]').fill(codeOf(key));
    await page.keyboard.press('Enter');
    await page.locator('#lookup-codes li').nth(9).waitFor();
    const [lookupCode = ''] = await page.locator('#lookup-codes li').allTextContents();
    await page.getByText('Lookup codes left: 10.').waitFor();
    await signOut(page);

    const signInWith = async (code: string): Promise<void> => {
      await goTo(page, '/console/sign-in');
      await fillIn(page, { email, password: PASSWORD });
      await page.locator('[name=code]').waitFor();
      expect(await cookiesOf(page)).toEqual([]);
      await fillIn(page, { code });
    };
    await signInWith('000000');
    await page.getByRole('alert').waitFor();
    // The present code was used for the set-up.
    await signInWith(codeOf(key, 1));
    await arriveAtAccount(page);
    await signOut(page);
    await signInWith(lookupCode);
    await arriveAtAccount(page);
    await page.getByText('Lookup codes left: 9.').waitFor();
    await signOut(page);
    await signInWith(lookupCode);
    await page.getByRole('alert').waitFor();
    expect(await cookiesOf(page)).toEqual([]);
  }, 120_000);

  it('a forgotten password is replaced through the link of a mail, once, and every session ends', async () => {
    const { page: before, email } = await signUp();
    const page = await tabs.open();
    await goTo(page, '/console/password-reset');
    await fillIn(page, { email });
    await page.getByText('a mail with a link is on its way').waitFor();
    const link = await linkOf(email, 'Choose a new password');
    await page.goto(link);
    await fillIn(page, { password: 'another horse battery' });
    await page.getByText('Your password is changed').waitFor();
    await before.reload();
    await before.waitForURL('**/console/sign-in?*');
    await goTo(page, '/console/sign-in');
    await fillIn(page, { email, password: PASSWORD });
    await page.getByRole('alert').waitFor();
    await fillIn(page, { email, password: 'another horse battery' });
    await arriveAtAccount(page);
    const again = await tabs.open();
    await again.goto(link);
    await fillIn(again, { password: 'a third horse battery' });
    await again.getByRole('alert').waitFor();
  });

  it('a changed password ends the other sessions; a person ends one of theirs', async () => {
    const { page, email } = await signUp();
    const second = await tabs.open();
    const signInThere = async (password: string): Promise<void> => {
      await goTo(second, '/console/sign-in');
      await fillIn(second, { email, password });
      await arriveAtAccount(second);
    };
    await signInThere(PASSWORD);
    await goTo(page, '/console/account');
    await page.getByRole('button', { name: /^End (?!all)/ }).click();
    await page.getByText('The session has ended.').waitFor();
    await goTo(second, '/console/account');
    await second.waitForURL('**/console/sign-in?*');
    await signInThere(PASSWORD);
    await fillIn(page, { currentPassword: PASSWORD, newPassword: 'another horse battery' });
    await page.getByText('Your password is changed.').waitFor();
    await goTo(second, '/console/account');
    await second.waitForURL('**/console/sign-in?*');
    await goTo(page, '/console/account');
    await page.getByText('This browser').waitFor();
  });

  it('an invited person joins, with the role of the invitation, until they are removed', async () => {
    const { page } = await signUp();
    const [member, email] = [await tabs.open(), newAddress()];
    const invitations = page.locator('section', { has: page.getByRole('heading', { name: 'Invitations' }) });
    await invitations.getByLabel('E-mail address').fill(email);
    await page.keyboard.press('Enter');
    await page.getByText('The invitation is on its way.').waitFor();
    await member.goto(await linkOf(email, 'Join Acme on the Buyer Exchange'));
    await fillIn(member, { name: MARKUP, password: PASSWORD });
    await arriveAtAccount(member);
    await member.getByText('This browser').waitFor();
    expect(await member.getByRole('heading', { name: 'Members' }).isVisible()).toBe(false);
    await goTo(page, '/console/account');
    const row = page.locator('.rows li', { hasText: email });
    await row.getByText(MARKUP).first().waitFor();
    await row.getByLabel('Role').selectOption('admin');
    await row.getByRole('button', { name: 'Change' }).click();
    await page.getByText('The role is changed.').waitFor();
    await member.reload();
    await member.getByRole('heading', { name: 'Members' }).waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await row.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The member is removed.').waitFor();
    await member.reload();
    await member.waitForURL('**/console/sign-in?*');
    expect(await page.title()).not.toBe('ran');
  });

  it('an admin registers an origin, whose pages may then call with a key, and removes it', async () => {
    const { page } = await signUp();
    const issued = await page.evaluate<{ readonly data: { readonly key: string } }>(
      `fetch('/api/v2/buyer/api-keys', { method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: '{"name":"App"}' }).then((answer) => answer.json())`,
    );
    const app = await tabs.open();
    await app.goto(other);
    const callFromApp = (): Promise<unknown> =>
      app.evaluate(`fetch('${service.baseUrl}/api/v2/buyer/advertisers',
        { headers: { Authorization: 'Bearer ${issued.data.key}' } })
        .then((answer) => answer.status, () => 'refused')`);
    expect(await callFromApp()).toBe('refused');
    const origins = page.locator('section', { has: page.getByRole('heading', { name: 'Browser origins' }) });
    await origins.getByLabel('Origin').fill(other);
    await page.keyboard.press('Enter');
    await origins.locator('li', { hasText: other }).waitFor();
    expect(await callFromApp()).toBe(200);
    page.once('dialog', (dialog) => void dialog.accept());
    await origins.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The origin is removed.').waitFor();
    expect(await origins.locator('li').count()).toBe(0);
    expect(await callFromApp()).toBe('refused');
  });

  it('the first admin of an account that an operator opened sets a password through the one-time link', async () => {
    const { customerId } = await service.openAccount();
    const printed = await exchange(['users', 'link', String(customerId), `${customerId}-1`, '--json'], {
      ...service.stores,
      DATA_DIR: service.dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
      BASE_URL: service.baseUrl,
    });
    const [link = ''] = /http\S+#token=[\w-]+/.exec(printed.stdout) ?? [printed.stderr];
    const page = await tabs.open();
    await page.goto(link);
    const email = newAddress();
    await fillIn(page, { email, password: PASSWORD });
    await arriveAtAccount(page);
    await page.getByText(email).first().waitFor();
  });

  const b64url = (bytes: Buffer): string => bytes.toString('base64url');
  const post = (path: string, body: object | URLSearchParams): Promise<Response> =>
    fetch(service.baseUrl + path, {
      method: 'POST',
      ...(body instanceof URLSearchParams
        ? { body }
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });

  /** Registers a client. @returns where it sends a person, and how it gets its tokens afterwards */
  const newClient = async (name: string, scope: string) => {
    const redirectUri = `${other}/callback`;
    const registered = await post('/auth/register', { client_name: name, redirect_uris: [redirectUri] });
    expect(registered.status).toBe(201);
    const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
    const verifier = b64url(randomBytes(32));
    const resource = `${service.baseUrl}/api/v2/buyer`;
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
    const redeem = async (
      code: string,
    ): Promise<{ readonly access_token: string; readonly scope: string }> => {
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
      const body = (await answer.json()) as { readonly access_token: string; readonly scope: string };
      expect({ status: answer.status, body }).toEqual({ status: 200, body: expect.any(Object) });
      return body;
    };
    return { authorizePath: `/authorize?${query.toString()}`, redeem };
  };
  const listAdvertisers = async (token: string): Promise<number> =>
    (
      await fetch(`${service.baseUrl}/api/v2/buyer/advertisers`, {
        headers: { Authorization: `Bearer ${token}` },
      })
    ).status;

  it('an OAuth client gets the access that a person allows, until they revoke it', async () => {
    const { page, email } = await signUp(MARKUP);
    await signOut(page);
    const client = await newClient(MARKUP, 'exchange:read exchange:write');
    await goTo(page, client.authorizePath);
    await page.waitForURL('**/console/sign-in?next=*');
    await fillIn(page, { email, password: PASSWORD });
    await page.waitForURL('**/console/oauth/*');
    await page.getByText(MARKUP).first().waitFor();
    await page.getByText('unverified').waitFor();
    await page.getByText('registered itself just now').waitFor();
    await page.getByText(new URL(other).host).waitFor();
    await page.locator('input[value="exchange:write"]').uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${other}/callback?*`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('state'), searchParams.get('iss')]).toEqual(['its-state', service.baseUrl]);
    const { access_token: token, scope } = await client.redeem(searchParams.get('code') ?? '');
    expect(scope.split(' ')).toContain('exchange:read');
    expect(scope.split(' ')).not.toContain('exchange:write');
    expect(await listAdvertisers(token)).toBe(200);

    await goTo(page, '/console/account');
    const row = page
      .locator('section', { has: page.getByRole('heading', { name: 'Connected apps' }) })
      .locator('li');
    await row.getByText(MARKUP).first().waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No app has access.').waitFor();
    expect(await listAdvertisers(token)).toBe(401);
    expect(await page.title()).not.toBe('ran');
  }, 120_000);

  it('an OAuth client that a person denies gets an error, and nothing else', async () => {
    const { page } = await signUp();
    const client = await newClient('Reporting', 'exchange:read');
    await goTo(page, client.authorizePath);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${other}/callback?*`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['access_denied', null]);
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

  it.each([
    ['with the cookie', '127.0.0.1'],
    ['of another site', 'localhost'],
  ])('a page of another origin, %s, changes nothing', async (_, host) => {
    const { page } = await signUp();
    const before = [await call(page, '/api/v2/buyer/advertisers'), await cookiesOf(page)];
    const origin = other.replace('127.0.0.1', host);
    const body =
      '{"name":"stolen","company":"Stolen","email":"thief@acme.example","password":"correct horse battery"}';
    const answers: (readonly [string, number])[] = [];
    const openThere = async (): Promise<Page> => {
      const attacker = await page.context().newPage();
      await attacker.goto(origin);
      attacker.on('response', (response) => {
        const { origin: from, pathname } = new URL(response.url());
        if (from === service.baseUrl) answers.push([pathname, response.status()]);
      });
      return attacker;
    };
    const attacker = await openThere();
    const fetchThere = (path: string, init: string): Promise<unknown> =>
      attacker.evaluate(`fetch('${service.baseUrl}${path}', { credentials: 'include', ${init} })
        .then(() => 'answered', () => 'refused')`);
    for (const [path] of attacks) {
      // Neither this nor the form, JSON with the type `text/plain`, needs a preflight.
      const plain = `method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '${body}'`;
      expect(await fetchThere(path, plain)).toBe('answered');
      const json = `method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '${body}'`;
      expect(await fetchThere(path, json)).toBe('refused');
      const form = await openThere();
      const arrived = form.waitForURL(service.baseUrl + path);
      await form.evaluate(`{
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', enctype: 'text/plain', action: '${service.baseUrl}${path}' });
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
    expect([await call(page, '/api/v2/buyer/advertisers'), await cookiesOf(page)]).toEqual(before);
    await page.reload();
    await page.getByText('This browser').waitFor();
  });
});
