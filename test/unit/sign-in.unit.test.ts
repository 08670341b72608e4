import { describe, expect, it } from '@jest/globals';
import {
  base32,
  codeOfStep,
  hashOfLookupCode,
  newLookupCodes,
  stepOfCode,
} from '../../command/accounts/second-factor.ts';
import { createPasswords, refuseGuessable } from '../../command/accounts/passwords.ts';
import { addressPrefixOf } from '../../command/accounts/session-rows.ts';
import { customerDomainOf, EmailAddress, emailKeyOf } from '../../domain/accounts/address.ts';
import { NewPassword } from '../../domain/accounts/password.ts';
import { ApiError } from '../../shared/http/errors.ts';

describe('an address', () => {
  it.each([
    'a@b',
    'Ann.O+tag@Mail.Example.com',
    "o'neil@example.com",
    'ünï@exämple.de',
    `${'l'.repeat(64)}@b.c`,
  ])('is accepted: %s', (text) => {
    expect(EmailAddress.safeParse(text).success).toBe(true);
  });
  it.each([
    '',
    'a',
    '@b.c',
    'a@',
    'a@b@c',
    ' a@b.c',
    'a@b.c ',
    'a b@c.d',
    'a\r\nBcc: x@y.z',
    'a@b.c,d@e.f',
    'a@b.c;d@e.f',
    'Ann <a@b.c>',
    '"a"@b.c',
    'a(b)@c.d',
    'a\\@b.c',
    `${'l'.repeat(65)}@b.c`,
    `a@${'d'.repeat(254)}`,
    'a@b\ud800.c',
    'a\0@b.c',
  ])('is refused: %j', (text) => {
    expect(EmailAddress.safeParse(text).success).toBe(false);
  });
  it('is the same in every case and Unicode form', () => {
    expect(emailKeyOf('A\u030Angstr\u00F6m@Example.COM')).toBe(emailKeyOf('\u00E5ngstro\u0308m@example.com'));
    expect(EmailAddress.parse('o\u0308@b.c')).toBe('\u00F6@b.c');
  });
  it('shows the domain of a company, not of a provider', () => {
    expect(['ann@Acme.test', 'ann@GMail.com'].map(customerDomainOf)).toEqual(['acme.test', undefined]);
  });
});

describe('a new password', () => {
  it('has 12 to 128 code points, of any kind', () => {
    const isAccepted = (text: string): boolean => NewPassword.safeParse(text).success;
    expect(['x'.repeat(11), 'x'.repeat(12), 'x'.repeat(128), 'x'.repeat(129)].map(isAccepted)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(['😀'.repeat(11), '😀'.repeat(12), '😀'.repeat(128), ' '.repeat(12)].map(isAccepted)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  const refusal = (password: string): string | undefined => {
    try {
      refuseGuessable('password', password, { company: 'Acme Tools', name: 'ann.lee' });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return `${error.status} ${error.body.field}`;
      throw error;
    }
  };
  it.each([
    'password1234',
    'PassWord1234',
    'qwertyuiop12',
    '123456789012',
    'my ACME-tools 77',
    'annlee loves cats',
    'Buyer-Exchange 1!',
  ])('is refused if it is tried first: %s', (password) => {
    expect(refusal(password)).toBe('400 password');
  });
  it.each(['nine purple walruses', 'correct horse battery staple', 'tools of the trade'])(
    'is accepted: %s',
    (password) => {
      expect(refusal(password)).toBeUndefined();
    },
  );
});

describe('the hashes of passwords', () => {
  it('are argon2id with the documented parameters, of the text as it is', async () => {
    const passwords = createPasswords(1);
    const password = ' A\u0308 long password \u{1F600} ';
    const stored = await passwords.hash(password);
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=47104,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    const isRight = (text: string): Promise<boolean> => passwords.verify(stored, text);
    expect([
      await isRight(password),
      await isRight(password.trim()),
      await isRight(password.normalize('NFC')),
      await isRight(password.toUpperCase()),
    ]).toEqual([true, false, false, false]);
    expect(await passwords.verify(undefined, password)).toBe(false);
    expect(await passwords.replace(stored, 'wrong', 'next')).toBeUndefined();
    expect(passwords.isOutdated(stored)).toBe(false);
    expect(passwords.isOutdated(stored.replace('m=47104', 'm=19456'))).toBe(true);
  });

  it('are refused at once when the wait would be too long, with a time to repeat', async () => {
    const passwords = createPasswords(1);
    const startedAt = performance.now();
    const took: number[] = [];
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        try {
          return await passwords.verify(undefined, 'x');
        } catch (error) {
          return error;
        } finally {
          took.push(performance.now() - startedAt);
        }
      }),
    );
    const refused = answers.filter((answer) => answer instanceof ApiError);
    expect(refused[0]).toMatchObject({ status: 503, headers: { 'Retry-After': '1' }, hadNoEffect: true });
    expect(refused.length).toBeGreaterThanOrEqual(85);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(2);
    expect(took.filter((ms) => ms < 100).length).toBeGreaterThanOrEqual(85);
  });
});

describe('a code', () => {
  // RFC 6238, appendix B: SHA-1, the last six of the eight digits.
  const seed = Buffer.from('12345678901234567890').toString('base64url');
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('is that of RFC 6238 at %d s', (seconds, code) => {
    expect(stepOfCode(seed, code, seconds * 1_000, null)).toBe(Math.floor(seconds / 30));
  });
  it('is accepted for the step before, the present and the next one', () => {
    const step = 100;
    const isAccepted = (atStep: number): boolean =>
      stepOfCode(seed, codeOfStep(seed, step), atStep * 30_000, null) !== undefined;
    expect([98, 99, 100, 101, 102].map(isAccepted)).toEqual([false, true, true, true, false]);
  });
  it('is accepted only for a step after the last accepted one', () => {
    expect(stepOfCode(seed, codeOfStep(seed, 100), 100 * 30_000, 99)).toBe(100);
    expect(stepOfCode(seed, codeOfStep(seed, 100), 100 * 30_000, 100)).toBeUndefined();
  });
});

describe('lookup codes', () => {
  it('are ten, different, of 80 bits', () => {
    const codes = newLookupCodes();
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^(?:[a-z2-7]{4}-){3}[a-z2-7]{4}$/);
  });
  it('are recognized however they are typed', () => {
    expect(hashOfLookupCode('ABCD efgh-2345 wxyz')).toEqual(hashOfLookupCode('abcd-efgh-2345-wxyz'));
  });
});

it.each([
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foobar', 'MZXW6YTBOI'],
])('base32 of %j is that of RFC 4648', (text, encoded) => {
  expect(base32(Buffer.from(text))).toBe(encoded);
});

it.each([
  ['203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
  ['unknown', 'unknown'],
])('the network of %s is %s', (address, prefix) => {
  expect(addressPrefixOf(address)).toBe(prefix);
});
