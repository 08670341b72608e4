import { createHmac } from 'node:crypto';

/** Newest first. During a rotation there are two. */
export type Secrets = readonly [string, ...string[]];

export interface SignedMessage {
  readonly id: string;
  /** Seconds since 1970: of the attempt. */
  readonly timestamp: number;
  /** The bytes that are sent. */
  readonly body: Buffer;
}

const BASE64_PREFIX = 'whsec_';

/** Standard Webhooks 1.0.0: `whsec_` and base64; the bytes of any other text. */
export const keyOf = (secret: string): Buffer =>
  secret.startsWith(BASE64_PREFIX)
    ? Buffer.from(secret.slice(BASE64_PREFIX.length), 'base64')
    : Buffer.from(secret);

/** @param key see `keyOf` */
const signature = (key: Buffer, { id, timestamp, body }: SignedMessage): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/**
 * Headers by which a receiver verifies the message: those of Standard Webhooks, with a signature of each secret, and
 * `X-Webhook-Signature` for receivers that use the text of the newest secret as key of the body alone.
 */
export const signedHeaders = (
  secrets: Secrets,
  isBearer: boolean,
  message: SignedMessage,
): Readonly<Record<string, string>> => {
  const [newest] = secrets;
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': secrets.map((secret) => signature(keyOf(secret), message)).join(' '),
    'x-webhook-signature': `sha256=${createHmac('sha256', newest).update(message.body).digest('hex')}`,
    ...(isBearer && { authorization: `Bearer ${newest}` }),
  };
};
