import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Page, Request, Route } from 'playwright-core';
import { consolePages } from '../../console/page.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { describeInChromium } from './chromium.ts';
import { startConsoleTabs, type ConsoleTabs } from './console-tabs.ts';

/**
 * The script of the pages, in Chromium: what it sends, and what it does with answers that are rare or hostile. The
 * service sends the pages, the test answers in place of its API.
 */

const MARKUP = `<img src="/x" onerror="document.title='ran'"><script>document.title='ran'</script>`;

const error = (message: string, more: object = {}) => ({
  data: null,
  error: { code: 'CODE', message, ...more },
});

interface CannedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** The connection is cut. */
  readonly isLost?: boolean;
}

describeInChromium('the script of the pages', (chromiumPath) => {
  let service: RunningService;
  let tabs: ConsoleTabs;
  beforeAll(async () => {
    service = await startRunningService({ LIMIT_ADDRESS: '10000/60' });
    tabs = await startConsoleTabs(chromiumPath);
  }, 60_000);
  afterEach(async () => {
    await tabs.closeTabs();
    expect(tabs.takeProblems()).toEqual([]);
  });
  afterAll(async () => {
    await tabs.close();
    await service.stop();
  }, 60_000);

  const openPage = async (path: string, width = 1_200): Promise<Page> => {
    const page = await tabs.open({ viewport: { width, height: 800 } });
    await page.goto(service.baseUrl + path);
    return page;
  };

  /** Answers the requests to a path in turn, the last answer for all that follow. @returns the requests */
  const answering = async (
    page: Page,
    path: string,
    ...answers: readonly CannedAnswer[]
  ): Promise<Request[]> => {
    const requests: Request[] = [];
    await page.route(`**${path}`, async (route: Route) => {
      requests.push(route.request());
      const answer = answers[Math.min(requests.length, answers.length) - 1];
      if (answer?.isLost === true) return route.abort();
      const { status = 200, headers = {}, body = { data: null, error: null } } = answer ?? {};
      return route.fulfill({ status, headers, contentType: 'application/json', body: JSON.stringify(body) });
    });
    return requests;
  };

  const signIn = async (page: Page): Promise<void> => {
    await page.getByLabel('E-mail address').fill('jane@acme.example');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const keyOf = (request: Request | undefined) => request?.headers()['idempotency-key'];
  const bodyOf = (request: Request | undefined) => request?.postDataJSON() as Record<string, unknown>;

  it.each([503, 429])(
    'repeats a %i once by itself after a short Retry-After, as the same request',
    async (status) => {
      const page = await openPage('/console/sign-in');
      const busy = { status, headers: { 'Retry-After': '1' }, body: error('busy') };
      const requests = await answering(page, '/auth/sign-in', busy, { status: 200 });
      const startedAt = performance.now();
      await signIn(page);
      await page.waitForURL('**/console/account');
      expect(performance.now() - startedAt).toBeGreaterThan(1_000);
      expect(requests).toHaveLength(2);
      expect(keyOf(requests[1])).toBe(keyOf(requests[0]));
      expect(keyOf(requests[0])).toMatch(/^[\w-]{36}$/);
      expect(bodyOf(requests[1])).toEqual({ email: 'jane@acme.example', password: 'correct horse battery' });
    },
  );

  it('repeats it only once', async () => {
    const page = await openPage('/console/sign-in');
    const busy = { status: 503, headers: { 'Retry-After': '1' }, body: error('busy') };
    const requests = await answering(page, '/auth/sign-in', busy);
    await signIn(page);
    await page.getByText('The service is busy. Try again in 1 s.').waitFor();
    expect(requests).toHaveLength(2);
  });

  it('says when to try again after a long Retry-After, and does not repeat', async () => {
    const page = await openPage('/console/sign-in');
    const refusal = { status: 429, headers: { 'Retry-After': '4' }, body: error('limit') };
    const requests = await answering(page, '/auth/sign-in', refusal, {
      ...refusal,
      headers: { 'Retry-After': '600' },
    });
    await signIn(page);
    await page.getByText('Too many requests. Try again in 4 s.').waitFor();
    await signIn(page);
    await page.getByText(/^Too many requests\. Try again at \d+:\d\d/).waitFor();
    expect(requests).toHaveLength(2);
  });

  it('sends the same input with the same key until an answer arrives, and then with a new one', async () => {
    const page = await openPage('/console/sign-in');
    const requests = await answering(
      page,
      '/auth/sign-in',
      { isLost: true },
      { isLost: true },
      {
        status: 401,
        body: error('wrong'),
      },
    );
    for (const text of ['cannot be reached', 'cannot be reached', 'wrong', 'wrong']) {
      await signIn(page);
      await page.getByText(text).waitFor();
      await page.locator('form[aria-busy="false"]').waitFor();
    }
    const keys = requests.map(keyOf);
    expect(keys).toEqual([keys[0], keys[0], keys[0], keys[3]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it('shows an error next to the field at fault, with the id of the request, and goes there', async () => {
    const page = await openPage('/console/sign-up');
    await answering(
      page,
      '/auth/signup',
      {
        status: 400,
        headers: { 'X-Request-Id': 'req-7' },
        body: error('password is too common.', { field: 'password' }),
      },
      { status: 202 },
    );
    await page.getByLabel('Company').fill('Acme');
    await page.getByLabel('E-mail address').fill('jane@acme.example');
    const password = page.getByLabel('Password');
    await password.fill('password1234');
    await page.keyboard.press('Enter');
    const alert = page.getByRole('alert');
    expect(await alert.textContent()).toBe('password is too common.Request req-7');
    expect(await password.getAttribute('aria-invalid')).toBe('true');
    expect(await password.getAttribute('aria-describedby')).toBe(await alert.getAttribute('id'));
    expect(await page.locator('[name=password]:focus').count()).toBe(1);
    expect(await page.locator('label:has([name=password]) + [role=alert]').count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.getByText('Look into your mailbox').waitFor();
    expect(await page.locator('form, .problem').count()).toBe(0);
  });

  it('asks for a code only when one is needed', async () => {
    const page = await openPage('/console/sign-in');
    const needed = { status: 401, body: error('code', { details: { reason: 'code-required' } }) };
    const requests = await answering(page, '/auth/sign-in', needed, { status: 200 });
    const code = page.getByLabel('Code of your authenticator app');
    expect(await code.isVisible()).toBe(false);
    await signIn(page);
    await code.fill('123456');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/account');
    expect(requests.map((request) => bodyOf(request)['code'])).toEqual([undefined, '123456']);
  });

  it.each([
    ['/console/oauth/abc', '/console/oauth/abc'],
    ['/authorize/abc?x=1', '/authorize/abc?x=1'],
    ['/console/account#token=abc', '/console/account'],
    ['', '/console/account'],
    ['https://evil.example/console/', '/console/account'],
    ['//evil.example/console/', '/console/account'],
    ['/\\evil.example/console/', '/console/account'],
    ['\\\\evil.example/console/', '/console/account'],
    ['/\t/evil.example/console/', '/console/account'],
    ['javascript:alert(1)//console/', '/console/account'],
    ['/console/../api/v2/accounts/current', '/console/account'],
    ['/console/%2e%2e/auth/sign-out', '/console/account'],
    ['/api/v2/accounts/current', '/console/account'],
    ['/console', '/console/account'],
    ['console/account', '/console/account'],
    ['http:console/account', '/console/account'],
  ])('next=%j leads to %s', async (next, expected) => {
    const page = await openPage(`/console/sign-in?next=${encodeURIComponent(next)}`);
    await answering(page, '/auth/sign-in', { status: 200 });
    const arrived: string[] = [];
    await page.route(/\/(console\/(account|oauth)|authorize|api|auth\/sign-out)|evil/, (route) => {
      arrived.push(route.request().url());
      return route.fulfill({ body: 'arrived' });
    });
    await signIn(page);
    await page.getByText('arrived').waitFor();
    expect(arrived).toEqual([service.baseUrl + expected]);
  });

  it.each([
    ['/console/verify-email', '/auth/verify-email', { password: 'correct horse battery' }],
    ['/console/set-up', '/auth/set-up', { email: 'jane@acme.example', password: 'correct horse battery' }],
    ['/console/invitation', '/auth/invitations/accept', { name: 'Jane', password: 'correct horse battery' }],
  ])('%s takes the token of its link out of the address, and sends it', async (where, endpoint, sent) => {
    const page = await tabs.open();
    const requests = await answering(page, endpoint, { status: 201 });
    await page.goto(`${service.baseUrl}${where}#token=${'t'.repeat(43)}`);
    await page.getByLabel('Password').waitFor();
    expect(page.url()).toBe(service.baseUrl + where);
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2);
    for (const [name, value] of Object.entries(sent)) await page.locator(`[name=${name}]`).fill(value);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/account');
    expect(bodyOf(requests[0])).toEqual({ ...sent, token: 't'.repeat(43) });
  });

  it.each(['verify-email', 'set-up', 'invitation'])('/console/%s without a token says so', async (name) => {
    const page = await openPage(`/console/${name}`);
    await page.getByText(/again: this page was opened without one/).waitFor();
    expect(await page.locator('form:visible').count()).toBe(0);
  });

  it('uses up the link of a reset only when the form is sent, and once', async () => {
    const page = await tabs.open();
    const verified = await answering(page, '/password-reset/verify', {
      body: { data: { ticket: 'T1' }, error: null },
    });
    const requests = await answering(
      page,
      '/password-reset/reset',
      { status: 400, body: error('too common', { field: 'password' }) },
      { status: 401, body: error('code', { details: { reason: 'code-required' } }) },
      { status: 200 },
    );
    await page.goto(`${service.baseUrl}/console/password-reset#token=abc`);
    await page.getByLabel('New password').fill('correct horse battery');
    expect(verified).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('too common').waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Code of your authenticator app').fill('123456');
    await page.keyboard.press('Enter');
    await page.getByText('Your password is changed').waitFor();
    expect(verified.map(bodyOf)).toEqual([{ token: 'abc' }]);
    expect(bodyOf(requests[2])).toEqual({ ticket: 'T1', password: 'correct horse battery', code: '123456' });
  });

  const consent = {
    client: { id: 'c', name: MARKUP, host: MARKUP, isVerified: false, registration: 'self' },
    redirectHost: MARKUP,
    scopes: [
      { scope: 'exchange:read', description: MARKUP },
      { scope: 'exchange:write', description: 'create and change' },
    ],
    resources: [MARKUP],
    lifetimeDays: 90,
    account: { company: MARKUP, userName: MARKUP },
  };

  it('consent: a person may narrow the scopes, and texts of the client are only texts', async () => {
    const page = await tabs.open();
    await page.route('**/api/console/oauth/abc', (route) =>
      route.request().method() === 'GET'
        ? route.fulfill({ json: { data: consent, error: null } })
        : route.fallback(),
    );
    await page.goto(`${service.baseUrl}/console/oauth/abc`);
    await page.getByRole('checkbox').nth(1).uncheck();
    expect(await page.locator('strong').first().textContent()).toBe(MARKUP);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.getByText('unverified: the app chose this name itself').isVisible()).toBe(true);
    expect(await page.getByText('registered itself just now').isVisible()).toBe(true);
    const redirectTo = `${service.baseUrl}/authorize/abc`;
    const sent: unknown[] = [];
    await page.route('**/api/console/oauth/abc', (route) => {
      sent.push(route.request().postDataJSON());
      return route.fulfill({ json: { data: { redirectTo }, error: null } });
    });
    await page.route('**/authorize/abc', (route) => route.fulfill({ body: 'back at the client' }));
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('back at the client').waitFor();
    expect(sent).toEqual([{ decision: 'allow', scopes: ['exchange:read'] }]);
    expect(await page.title()).not.toBe('ran');
  });

  it('consent: without a session, a person signs in first and returns', async () => {
    const page = await tabs.open();
    await answering(page, '/api/console/oauth/abc', { status: 401, body: error('no session') });
    await page.goto(`${service.baseUrl}/console/oauth/abc`);
    await page.waitForURL(`**/console/sign-in?next=${encodeURIComponent('/console/oauth/abc')}`);
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.waitForURL(`**/console/sign-up?next=${encodeURIComponent('/console/oauth/abc')}`);
  });

  const time = '2026-11-20T10:11:12.000Z';
  const hostile = {
    '/accounts/current': { company: MARKUP, customerDomain: MARKUP },
    '/accounts/current/user': {
      id: '1-1',
      name: MARKUP,
      email: MARKUP,
      emailVerified: false,
      role: 'admin',
      totp: { enabled: false, lookupCodesLeft: 0 },
    },
    '/accounts/current/sessions': [
      { id: 's', agent: MARKUP, addressPrefix: MARKUP, createdAt: time, lastSeenAt: time },
    ],
    '/accounts/current/connected-apps': [
      { grantId: 'g', client: { name: MARKUP, host: MARKUP }, scopes: [MARKUP], createdAt: time },
    ],
    '/accounts/current/members': [
      { id: '1-1', name: MARKUP, email: MARKUP, role: 'member', createdAt: time },
    ],
    '/accounts/current/invitations': [
      { id: 'i', email: MARKUP, role: MARKUP, status: MARKUP, expiresAt: time },
    ],
    '/buyer/browser-origins': { origins: [{ id: 'o', origin: MARKUP, label: MARKUP }] },
  };
  const openAccount = async (answers: Readonly<Record<string, unknown>>, width?: number): Promise<Page> => {
    const page = await tabs.open({ viewport: { width: width ?? 1_200, height: 800 } });
    for (const [path, data] of Object.entries(answers))
      await answering(page, `/api/v2${path}`, { body: { data, error: null } });
    await page.goto(`${service.baseUrl}/console/account`, { waitUntil: 'networkidle' });
    return page;
  };

  it('account: every text is only a text', async () => {
    const page = await openAccount(hostile);
    await page.getByRole('heading', { name: 'Browser origins' }).waitFor();
    const shown = await page.locator('main').innerText();
    // Company and domain, name and address, session, app, member, invitation, origin.
    expect(shown.split(MARKUP).length - 1).toBeGreaterThanOrEqual(2 + 2 + 2 + 3 + 2 + 3 + 2);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.title()).not.toBe('ran');
  });

  it('account: the key of the authenticator is shown in groups, and only an otpauth address becomes a link', async () => {
    const page = await openAccount(hostile);
    await answering(
      page,
      '/user/totp',
      {
        status: 201,
        body: { data: { secret: 'ABCDEFGHIJ', otpauthUri: 'javascript:alert(1)' }, error: null },
      },
      {
        status: 201,
        body: { data: { secret: 'ABCDEFGHIJ', otpauthUri: 'otpauth://totp/a?secret=b' }, error: null },
      },
    );
    const link = page.locator('#totp a');
    const setUp = async () => {
      await page.locator('[data-shows="totp"] input').fill('correct horse battery');
      await page.keyboard.press('Enter');
      await page.locator('#totp').waitFor();
      await page.locator('[data-shows="totp"][aria-busy="false"]').waitFor();
    };
    await setUp();
    expect(await page.locator('#totp-secret').textContent()).toBe('ABCD EFGH IJ');
    expect(await link.getAttribute('href')).toBeNull();
    await setUp();
    expect(await link.getAttribute('href')).toBe('otpauth://totp/a?secret=b');
  });

  it('account: a member who is not an admin does not see the sections of admins, nor asks for them', async () => {
    const page = await openAccount({
      ...hostile,
      '/accounts/current/user': { ...hostile['/accounts/current/user'], role: 'member' },
    });
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toContain('Sessions');
    expect(await page.getByRole('heading', { name: 'Members' }).isVisible()).toBe(false);
    expect(await page.getByRole('heading', { name: 'Invitations' }).isVisible()).toBe(false);
  });

  it('account: a long list is read to its end', async () => {
    const page = await tabs.open();
    for (const [path, data] of Object.entries(hostile))
      await answering(page, `/api/v2${path}`, { body: { data, error: null } });
    const apps = Array.from({ length: 130 }, (_, n) => ({
      grantId: `g${n}`,
      client: { name: `App ${n}` },
      scopes: [],
      createdAt: time,
    }));
    await page.route('**/connected-apps*', (route) => {
      const { searchParams } = new URL(route.request().url());
      const [skip, take] = [Number(searchParams.get('skip') ?? 0), Number(searchParams.get('take') ?? 50)];
      const data = apps.slice(skip, skip + take);
      const pagination = { skip, take, total: apps.length, hasMore: skip + data.length < apps.length };
      return route.fulfill({ json: { data, error: null, meta: { pagination } } });
    });
    await page.goto(`${service.baseUrl}/console/account`);
    await page.getByText('App 129', { exact: true }).first().waitFor();
    expect(await page.getByRole('button', { name: /^Revoke App/ }).count()).toBe(130);
  });

  it('account: asks before an app loses its access, and says that it has', async () => {
    const page = await openAccount(hostile);
    const requests = await answering(page, '/connected-apps/g', { status: 204, body: {} });
    const revoke = page.getByRole('button', { name: 'Revoke' }).first();
    page.once('dialog', (dialog) => void dialog.dismiss());
    await revoke.click();
    expect(requests).toEqual([]);
    page.once('dialog', (dialog) => void dialog.accept());
    await answering(page, '/accounts/current/connected-apps', { body: { data: [], error: null } });
    await revoke.click();
    await page.getByText('No app has access.').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('The app has no access any longer.');
    expect(await page.locator('h2:focus').textContent()).toBe('Connected apps');
    expect(requests.map((request) => request.method())).toEqual(['DELETE']);
  });

  const long = 'W'.repeat(255);
  const withLongTexts = JSON.parse(
    JSON.stringify(hostile).replaceAll(JSON.stringify(MARKUP), `"${long}"`),
  ) as object;

  it.each(consolePages.map(({ path }) => path.replace('{uid}', 'abc')))(
    '%s fits a width of 390 pixels',
    async (where) => {
      const page = await openAccount({ ...withLongTexts }, 390);
      await answering(page, '/api/console/oauth/abc', {
        body: {
          data: {
            ...consent,
            client: { ...consent.client, name: long },
            account: { company: long, userName: long },
          },
          error: null,
        },
      });
      await page.goto(service.baseUrl + where, { waitUntil: 'networkidle' });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    },
  );

  it.each(consolePages.map(({ path }) => path.replace('{uid}', 'abc')))(
    '%s says without JavaScript that it is needed',
    async (where) => {
      const page = await tabs.open({ javaScriptEnabled: false });
      await page.goto(service.baseUrl + where);
      expect(await page.locator('body').innerText()).toMatch(/This page needs JavaScript/);
      expect(await page.locator('form:visible').count()).toBe(0);
    },
  );

  it('the count of violations finds one', async () => {
    const page = await openPage('/console/sign-in');
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { textContent: "document.title = 'ran'" }))`,
    );
    expect(await page.title()).not.toBe('ran');
    expect(tabs.takeProblems()).toEqual([expect.stringContaining('policy: ')]);
  });
});
