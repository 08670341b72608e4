import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { keyOf, signedHeaders, type Secrets } from '../../command/workers/webhooks/sign.ts';

/** From the libraries of github.com/standard-webhooks/standard-webhooks. */
const vector = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  body: Buffer.from('{"test": 2432232314}'),
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

const now = (): number => Math.floor(Date.now() / 1_000);
const headersOf = (secrets: Secrets, body: Buffer, isBearer = false) =>
  signedHeaders(secrets, isBearer, { id: 'msg_1', timestamp: now(), body });
const verified = (webhook: Webhook, headers: Readonly<Record<string, string>>, body: Buffer): unknown =>
  webhook.verify(body, headers);

describe('signatures of webhooks', () => {
  it('are those of the specification', () => {
    const { secret, signature, ...message } = vector;
    expect(signedHeaders([secret], false, message)['webhook-signature']).toBe(signature);
  });

  it('are verified by the package standardwebhooks, for random secrets and bodies of any bytes', () => {
    for (let n = 0; n < 200; n += 1) {
      const secret = `whsec_${randomBytes(24 + (n % 40)).toString('base64')}`;
      const body = Buffer.from(JSON.stringify({ n, text: `ü€𝄞${randomBytes(n).toString('latin1')}` }));
      const headers = headersOf([secret], body);
      expect(verified(new Webhook(secret), headers, body)).toEqual(JSON.parse(body.toString()));
      const other = Buffer.concat([body, Buffer.from(' ')]);
      expect(() => verified(new Webhook(secret), headers, other)).toThrow('No matching signature found');
    }
  });

  it('of a secret without whsec_ use its characters as key', () => {
    const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(keyOf(secret)).toEqual(Buffer.from(secret));
    const body = Buffer.from('{}');
    expect(verified(new Webhook(secret, { format: 'raw' }), headersOf([secret], body), body)).toEqual({});
  });

  it('of two secrets are verified with each of them', () => {
    const [newest, previous, other] = [1, 2, 3].map(() => `whsec_${randomBytes(32).toString('base64')}`);
    const body = Buffer.from('{"a":1}');
    const headers = headersOf([newest ?? '', previous ?? ''], body);
    expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    for (const secret of [newest, previous]) {
      expect(verified(new Webhook(secret ?? ''), headers, body)).toEqual({ a: 1 });
    }
    expect(() => verified(new Webhook(other ?? ''), headers, body)).toThrow('No matching signature found');
  });

  it('have a simple form: the HMAC of the body, with the text of the newest secret', () => {
    const body = Buffer.from('{"a":1}');
    const hex = createHmac('sha256', vector.secret).update(body).digest('hex');
    expect(headersOf([vector.secret, 'another secret'], body)['x-webhook-signature']).toBe(`sha256=${hex}`);
  });

  it('are accompanied by the secret only on request', () => {
    const body = Buffer.from('{}');
    expect(headersOf([vector.secret], body)['authorization']).toBeUndefined();
    expect(headersOf([vector.secret], body, true)['authorization']).toBe(`Bearer ${vector.secret}`);
  });
});
