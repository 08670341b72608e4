import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Sender } from '../../shared/mail/mail-address.ts';
import type { Mailer } from '../../shared/mail/mailer.ts';
import { readMail } from '../support/read-mail.ts';

export interface MailerUnderTest {
  readonly mailer: Mailer;
  /** The mails that arrived with this id, as bytes of MIME. */
  readonly arrived: (id: string) => Promise<readonly string[]>;
  /** Everything that arrived. */
  readonly count: () => Promise<number>;
  stop(): Promise<void>;
}

const from = { name: 'Bü, Exchange', address: 'no-reply@exchange.example' };
const link = `https://exchange.example/console/verify-email#token=${'A'.repeat(43)}`;
const mail = { to: 'person@buyer.example', subject: 'Your address', text: `Hello,\n\nopen ${link}\n` };

const INJECTIONS: readonly (readonly [what: string, change: Partial<typeof mail>])[] = [
  ['a line break in the address', { to: 'person@buyer.example\r\nBcc: other@buyer.example' }],
  ['a line feed alone in the address', { to: 'person@buyer.example\nBcc: other@buyer.example' }],
  ['a second address', { to: 'person@buyer.example,other@buyer.example' }],
  ['a second address after a semicolon', { to: 'person@buyer.example;other@buyer.example' }],
  ['a name', { to: 'Other <other@buyer.example>' }],
  ['a command in the address', { to: 'person@buyer.example> NOTIFY=SUCCESS' }],
  ['two at signs', { to: 'person@other@buyer.example' }],
  ['no domain', { to: 'person@' }],
  ['no local part', { to: '@buyer.example' }],
  ['an empty address', { to: '' }],
  ['half a surrogate pair in the address', { to: 'pers\ud800n@buyer.example' }],
  ['255 characters of an address', { to: `person@${'a'.repeat(243)}.info` }],
  ['a line break in the subject', { subject: 'Hello\r\nBcc: other@buyer.example' }],
  ['a carriage return alone in the subject', { subject: 'Hello\rBcc: other@buyer.example' }],
  ['a zero byte in the subject', { subject: 'Hello\0' }],
  ['a subject of 201 characters', { subject: 'a'.repeat(201) }],
];

/** Tests every promise of a mailer. Every adapter runs them. */
export const mailerContract = (name: string, make: (sender: Sender) => Promise<MailerUnderTest>): void => {
  describe(`${name}, a mailer`, () => {
    let made: MailerUnderTest;
    beforeAll(async () => {
      made = await make(from);
    });
    afterAll(() => made.stop());

    const sent = async (change: Partial<typeof mail> = {}, id = randomUUID()): Promise<string> => {
      await made.mailer.send(id, { ...mail, ...change });
      const [source, ...others] = await made.arrived(id);
      if (source === undefined || others.length > 0) throw new Error('not exactly one mail arrived');
      return source;
    };

    it('sends plain text with the headers that a mail needs', async () => {
      const id = randomUUID();
      const { headers, text } = readMail(await sent({}, id));
      expect(headers).toEqual({
        to: mail.to,
        from: 'Bü, Exchange <no-reply@exchange.example>',
        subject: mail.subject,
        'message-id': `<${id}@exchange.example>`,
        'auto-submitted': 'auto-generated',
        date: expect.any(String),
        'mime-version': '1.0',
        'content-type': 'text/plain; charset=utf-8',
        'content-transfer-encoding': expect.stringMatching(/^(?:7bit|quoted-printable|base64)$/),
      });
      expect(Math.abs(Date.parse(headers['date'] ?? '') - Date.now())).toBeLessThan(60_000);
      expect(text).toBe(mail.text.trimEnd());
    });

    it('writes lines of ASCII, at most 998 characters long', async () => {
      const source = await sent({ subject: 'Grüße '.repeat(30), text: `${'ö'.repeat(2_000)}\n${link}` });
      expect(source).toMatch(/^[\t\r\n\x20-\x7e]+$/);
      expect(Math.max(...source.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(998);
    });

    it.each([
      ['Grüße aus Zürich — 你好 👋'],
      [`${'long words and umlauts äöü '.repeat(7)}end`],
      ['a: b; c="d" <e@f>'],
    ])('keeps the subject and text %s', async (text) => {
      const read = readMail(await sent({ subject: text, text: `${text}\n.\n..\nFrom x\n=3D` }));
      expect([read.headers['subject'], read.text]).toEqual([text, `${text}\n.\n..\nFrom x\n=3D`]);
    });

    it('sends no encoded word that is part of the subject', async () => {
      const read = readMail(await sent({ subject: 'of =?UTF-8?Q?=0D=0ABcc:?= Acme' }));
      expect(read.headers['subject']).toBe('of = ?UTF-8?Q?=0D=0ABcc:?= Acme');
    });

    it.each(INJECTIONS)('refuses %s, finally and without repeating it', async (_what, change) => {
      const before = await made.count();
      const refused = made.mailer.send(randomUUID(), { ...mail, ...change });
      await expect(refused).rejects.toMatchObject({ name: 'MailError', isFinal: true });
      await expect(refused).rejects.not.toThrow(/@|other|Hello/);
      expect(await made.count()).toBe(before);
    });

    it('reads no file and no URL that the text names', async () => {
      const text = '{"path":"/etc/hostname"}\nhttp://127.0.0.1:9/';
      expect(readMail(await sent({ text })).text).toBe(text);
    });

    it('a mail that is sent twice has the same Message-ID', async () => {
      const id = randomUUID();
      await made.mailer.send(id, mail);
      await made.mailer.send(id, mail);
      const ids = (await made.arrived(id)).map((source) => readMail(source).headers['message-id']);
      expect(new Set(ids)).toEqual(new Set([`<${id}@exchange.example>`]));
    });

    it('sends twenty mails at once', async () => {
      const before = await made.count();
      const ids = Array.from({ length: 20 }, () => randomUUID());
      await Promise.all(ids.map((id) => sent({}, id)));
      expect(await made.count()).toBe(before + 20);
    });
  });
};
