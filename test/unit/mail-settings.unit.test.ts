import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../../app/config.ts';
import { isMailAddress, parseSender } from '../../shared/mail/mail-address.ts';
import { parseSmtpUrl } from '../../shared/mail/smtp-server.ts';

describe('SMTP_URL', () => {
  it.each([
    ['smtp://mail.example', { host: 'mail.example', port: 587, tls: 'starttls' }],
    ['smtps://mail.example', { host: 'mail.example', port: 465, tls: 'implicit' }],
    ['smtp://mail.example:2525/?tls=off', { host: 'mail.example', port: 2525, tls: 'off' }],
    ['smtp://localhost', { host: 'localhost', port: 587, tls: 'off' }],
    ['smtp://127.0.0.2:25', { host: '127.0.0.2', port: 25, tls: 'off' }],
    ['smtp://[::1]:25', { host: '::1', port: 25, tls: 'off' }],
    ['smtp://[::ffff:127.0.0.1]:25', { host: '::ffff:7f00:1', port: 25, tls: 'off' }],
    ['smtp://127.0.0.1?tls=required', { host: '127.0.0.1', port: 587, tls: 'starttls' }],
    ['smtp://10.0.0.1', { host: '10.0.0.1', port: 587, tls: 'starttls' }],
    ['smtp://localhost.example', { host: 'localhost.example', port: 587, tls: 'starttls' }],
    [
      'smtps://us%40er:p%2Fw@mail.example',
      { host: 'mail.example', port: 465, tls: 'implicit', login: { user: 'us@er', pass: 'p/w' } },
    ],
    [
      'smtp://user:password@localhost',
      { host: 'localhost', port: 587, tls: 'off', login: { user: 'user', pass: 'password' } },
    ],
  ])('%s', (url, server) => expect(parseSmtpUrl(url)).toEqual(server));

  it.each([
    'mail.example',
    'http://mail.example',
    'smtp://',
    'smtp://user@mail.example',
    'smtp://:secret@mail.example',
    'smtp://user:%zz@mail.example',
    'smtp://mail.example/path',
    'smtp://mail.example#secret',
    'smtp://mail.example?tls=maybe',
    'smtp://mail.example?ssl=on',
    'smtps://mail.example?tls=off',
    'smtp://user:secret@mail.example?tls=off',
    'smtp://mail.example:99999',
  ])('refuses %s without repeating it', (url) => {
    expect(() => readConfig({ SMTP_URL: url, MAIL_FROM: 'a@b.example' })).toThrow(/^ {2}SMTP_URL: must /m);
    expect(() => readConfig({ SMTP_URL: url, MAIL_FROM: 'a@b.example' })).not.toThrow(/secret|%zz/);
  });

  it('needs MAIL_FROM', () => {
    const SMTP_URL = 'smtp://mail.example';
    expect(() => readConfig({ SMTP_URL })).toThrow(/^ {2}MAIL_FROM: must be set/m);
    expect(readConfig({ SMTP_URL, MAIL_FROM: 'a@b.example' }).MAIL_FROM).toEqual({
      name: '',
      address: 'a@b.example',
    });
  });
});

describe('MAIL_FROM', () => {
  it.each([
    ['no-reply@exchange.example', { name: '', address: 'no-reply@exchange.example' }],
    ['<no-reply@exchange.example>', { name: '', address: 'no-reply@exchange.example' }],
    ['Bü, the Exchange  <no-reply@localhost>', { name: 'Bü, the Exchange', address: 'no-reply@localhost' }],
  ])('%s', (text, sender) => expect(parseSender(text)).toEqual(sender));

  it.each(['', 'Exchange', 'a@b@c', 'A <a@b>, B <b@b>', 'A\r\nBcc: x@y <a@b>', '"A" <a@b>', 'A <a b@c>'])(
    'refuses %j',
    (text) => expect(() => parseSender(text)).toThrow(RangeError),
  );
});

it.each([
  ['a@b', true],
  ["o'neil+tag=x@buyer.example", true],
  ['jö.x@exämple.example', true],
  [`${'a'.repeat(64)}@b`, true],
  [`${'a'.repeat(65)}@b`, false],
  [`a@${'b'.repeat(252)}`, true],
  [`a@${'b'.repeat(253)}`, false],
  ['a b@c', false],
  ['a@b c', false],
  [' a@b', false],
  ['a@b\u2028', false],
  ['a@b\u0085', false],
])('the address %j can receive mail: %s', (text, can) => expect(isMailAddress(text)).toBe(can));
