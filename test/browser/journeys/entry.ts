import { createHmac } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { linkIn, mailTo } from '../../support/outbox-link.ts';
import { exchange } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { problemsOf } from '../console-checks.ts';
import {
  arrive,
  fillIn,
  MARKUP,
  newAddress,
  PASSWORD,
  signOut,
  type ConsoleJourney,
} from '../console-journey.ts';

/** How people get in: sign-up, sign-in, second factor, reset, links of mails and of the operator. */

/** RFC 6238 with the parameters of every authenticator app. @param step 30 seconds, counted from the present one */
export const codeOf = (secret: string, step = 0): string => {
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

export const entryPages = ['/sign-in', '/sign-up', '/password-reset', '/verify-email'] as const;

export const entryJourneys = ({ service, open, goTo, takeProblems }: ConsoleJourney): void => {
  const cookiesOf = (page: Page) => page.context().cookies();
  const signUp = async (company = 'Acme'): Promise<{ readonly page: Page; readonly email: string }> => {
    const [page, email] = [await open(), newAddress()];
    await goTo(page, '/console/sign-up');
    await fillIn(page, { company, email, password: PASSWORD });
    await arrive(page);
    return { page, email };
  };

  it('a person signs up, signs out, and signs in again; a wrong password is refused', async () => {
    const { page, email } = await signUp();
    expect(await cookiesOf(page)).toEqual([
      expect.objectContaining({
        name: '__Host-sc_session',
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
    await goTo(page, '/console/account?tab=sessions');
    await page.waitForURL(`**/console/sign-in?next=${encodeURIComponent('/console/account?tab=sessions')}`);
    await fillIn(page, { email, password: 'correct horse battery' });
    await page.getByRole('alert').waitFor();
    expect(await cookiesOf(page)).toEqual([]);
    await fillIn(page, { email: email.toUpperCase(), password: PASSWORD });
    await page.getByText('This browser').waitFor();
    expect(page.url()).toBe(`${service().baseUrl}/console/account?tab=sessions`);
  });

  it('with an authenticator app, a sign-in needs its code, or a lookup code, once', async () => {
    const { page, email } = await signUp();
    await goTo(page, '/console/account?tab=security');
    await page.locator('[name=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    const key = (await page.getByLabel('The key, for the app').textContent()) ?? '';
    expect(key).toMatch(/^(?:[A-Z2-7]{4} )+[A-Z2-7]{1,4}$/);
    const link = page.getByRole('link', { name: 'open it in the app' });
    expect(await link.getAttribute('href')).toContain(`secret=${key.replaceAll(' ', '')}`);
    await fillIn(page, { code: codeOf(key) });
    const codes = page.getByRole('list', { name: 'Lookup codes' }).getByRole('listitem');
    await codes.nth(9).waitFor();
    const [lookupCode = ''] = await codes.allTextContents();
    await page.getByText('Lookup codes left: 10.').waitFor();
    await signOut(page);

    const signInWith = async (code: string): Promise<void> => {
      await goTo(page, '/console/sign-in');
      await fillIn(page, { email, password: PASSWORD });
      await page.locator('[name=code]').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(await cookiesOf(page)).toEqual([]);
      await fillIn(page, { code });
    };
    await signInWith('000000');
    await page.getByRole('alert').waitFor();
    // The present code was used for the set-up.
    await signInWith(codeOf(key, 1));
    await arrive(page);
    await signOut(page);
    await signInWith(lookupCode);
    await arrive(page);
    await signOut(page);
    await signInWith(lookupCode);
    await page.getByRole('alert').waitFor();
    expect(await cookiesOf(page)).toEqual([]);
  }, 60_000);

  const linkOf = async (email: string, subject: string): Promise<string> =>
    linkIn(await mailTo(service(), email, subject)).url;

  it('a forgotten password is replaced through the link of a mail, once, and every session ends', async () => {
    const { page: before, email } = await signUp();
    const page = await open();
    await goTo(page, '/console/password-reset');
    await fillIn(page, { email });
    await page.getByText('a mail with a link is on its way').waitFor();
    const link = await linkOf(email, 'Choose a new password');
    const verified: Request[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/password-reset/verify')) verified.push(request);
    });
    await page.goto(link);
    await page.locator('[name=password]').waitFor();
    // A program that opens the links of a mail must not use up the link.
    expect(verified).toEqual([]);
    expect(page.url()).not.toContain('token');
    await fillIn(page, { password: 'password1234' });
    await page
      .getByText('password', { exact: false })
      .and(page.locator('.mantine-InputWrapper-error'))
      .waitFor();
    await fillIn(page, { password: 'another horse battery' });
    await page.getByText('Your password is changed').waitFor();
    expect(verified).toHaveLength(1);
    await before.reload();
    await before.waitForURL('**/console/sign-in?*');
    await goTo(page, '/console/sign-in');
    await fillIn(page, { email, password: PASSWORD });
    await page.getByRole('alert').waitFor();
    await fillIn(page, { email, password: 'another horse battery' });
    await arrive(page);
    const again = await open();
    await again.goto(link);
    await fillIn(again, { password: 'a third horse battery' });
    await again.getByRole('alert').waitFor();
  });

  it('the first admin of an account that an operator opened sets a password through the one-time link', async () => {
    const { customerId } = await service().openAccount();
    const printed = await exchange(['users', 'link', String(customerId), `${customerId}-1`, '--json'], {
      ...service().stores,
      DATA_DIR: service().dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
      BASE_URL: service().baseUrl,
    });
    const [link = ''] = /http\S+#token=[\w-]+/.exec(printed.stdout) ?? [printed.stderr];
    const page = await open();
    await page.goto(link);
    await page.locator('[name=email]').waitFor();
    expect(page.url()).toBe(`${service().baseUrl}/console/set-up`);
    expect(await problemsOf(page, 'set-up')).toEqual([]);
    await fillIn(page, { email: newAddress(), password: PASSWORD });
    await arrive(page);
  });

  it('a page of a link says so if it was opened without one', async () => {
    const page = await open();
    for (const name of ['verify-email', 'set-up', 'invitation']) {
      await goTo(page, `/console/${name}`);
      await page.getByText(/again: this page was opened without one/).waitFor();
      expect(await page.locator('form').count()).toBe(0);
    }
  });

  /** Answers in place of the service, for what it does rarely. */
  const answering = async (
    page: Page,
    ...answers: readonly { readonly status: number; readonly headers?: Record<string, string> }[]
  ): Promise<Request[]> => {
    const requests: Request[] = [];
    await page.route('**/auth/sign-in', (route) => {
      requests.push(route.request());
      const { status, headers = {} } = answers[Math.min(requests.length, answers.length) - 1] ?? {
        status: 200,
      };
      const error = { code: 'CODE', message: 'refused', details: null };
      return route.fulfill({
        status,
        headers,
        json: status < 300 ? { data: {}, error: null } : { data: null, error },
      });
    });
    return requests;
  };
  const credentials = { email: 'jane@acme.example', password: 'correct horse battery' };

  it('after a short Retry-After it sends the same request again by itself; after a long one it says when', async () => {
    const page = await open();
    const requests = await answering(
      page,
      { status: 503, headers: { 'Retry-After': '1' } },
      { status: 429, headers: { 'Retry-After': '600' } },
    );
    await goTo(page, '/console/sign-in');
    await fillIn(page, credentials);
    await page.getByText(/^Too many requests\. Try again at \d+:\d\d/).waitFor();
    const keys = requests.map((request) => request.headers()['idempotency-key']);
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[\w-]{32,36}$/);
    expect(requests[1]?.postDataJSON()).toEqual(credentials);
  });

  const nexts = [
    ['/console/oauth/abc', '/console/oauth/abc'],
    ['/authorize/abc?x=1', '/authorize/abc?x=1'],
    ['/console/account#token=abc', '/console/account'],
    ['https://evil.example/console/', '/console'],
    ['//evil.example/console/', '/console'],
    ['/\\evil.example/console/', '/console'],
    ['\\\\evil.example/console/', '/console'],
    ['/\t/evil.example/console/', '/console'],
    ['javascript:alert(1)//console/', '/console'],
    ['/console/../api/v2/accounts/current', '/console'],
    ['/console/%2e%2e/auth/sign-out', '/console'],
    ['/api/v2/accounts/current', '/console'],
    ['http:console/account', '/console'],
  ] as const;

  it('after the sign-in, only pages of this service follow', async () => {
    const page = await open();
    await answering(page, { status: 200 });
    await goTo(page, '/console/sign-in');
    await page.locator('[name=email]').fill(credentials.email);
    await page.locator('[name=password]').fill(credentials.password);
    const arrived: string[] = [];
    // After this answer, a page stays as it is.
    await page.route(/\/(console(\/(account|oauth).*)?$|authorize|api|auth\/sign-out)|evil/, (route) => {
      arrived.push(route.request().url().replace(service().baseUrl, ''));
      return route.fulfill({ status: 204 });
    });
    for (const [next, expected] of nexts) {
      const address = `/console/sign-in?next=${encodeURIComponent(next)}`;
      await page.evaluate(`history.replaceState(null, '', ${JSON.stringify(address)})`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await until(async () => arrived.length > 0);
      expect([next, arrived.splice(0)]).toEqual([next, [expected]]);
    }
  });

  it('without JavaScript, it says that it is needed', async () => {
    const page = await open({ javaScriptEnabled: false });
    await goTo(page, '/console/sign-in');
    expect(await page.locator('body').innerText()).toMatch(/The console needs JavaScript/);
    expect(await page.locator('form').count()).toBe(0);
  });

  it('the count of violations finds one', async () => {
    const page = await open();
    await goTo(page, '/console/sign-in');
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { textContent: "document.title = 'ran'" }))`,
    );
    expect(await page.title()).not.toBe('ran');
    expect(takeProblems()).toEqual([expect.stringContaining('policy: ')]);
  });

  it('an invited person joins, with the role of the invitation, until they are removed', async () => {
    const { page } = await signUp();
    const [member, email] = [await open(), newAddress()];
    await goTo(page, '/console/members');
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await fillIn(page, { email });
    await page.getByText('The invitation is on its way').waitFor();
    await page.getByRole('row', { name: new RegExp(`^${email} member OPEN`) }).waitFor();
    await member.goto(await linkOf(email, 'Join Acme on the Buyer Exchange'));
    await member.locator('[name=name]').waitFor();
    expect(await problemsOf(member, 'invitation')).toEqual([]);
    await fillIn(member, { name: MARKUP, password: PASSWORD });
    await arrive(member);
    await goTo(member, '/console/members');
    await member.getByRole('link', { name: MARKUP }).waitFor();
    expect(await member.getByRole('tab', { name: 'Invitations' }).count()).toBe(0);
    expect(await member.getByRole('link', { name: 'API keys' }).count()).toBe(0);

    await page.getByRole('tab', { name: 'Members' }).click();
    await page.reload();
    await page.getByRole('link', { name: MARKUP }).click();
    await page.getByLabel('Role').selectOption('admin');
    await page.getByText('admin', { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('UserRoleChanged').first().waitFor();
    await member.reload();
    await member.getByRole('tab', { name: 'Invitations' }).waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('1 member').waitFor();
    await member.reload();
    await member.waitForURL('**/console/sign-in?*');
    expect(await page.title()).not.toBe('ran');
  }, 60_000);
};
