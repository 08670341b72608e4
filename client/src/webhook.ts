import type { webhooks } from './api.ts';

type BodyOf<W> = W extends { post: { requestBody: { content: { 'application/json': infer B } } } }
  ? B
  : never;

/** The body of a webhook, and of an event of a stream: `type` says which. */
export type ExchangeEvent = { [K in keyof webhooks]: BodyOf<webhooks[K]> }[keyof webhooks];

/** The headers of the request, as `fetch` or Node.js has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Default: 300. */
  readonly toleranceSeconds?: number;
  /** Default: the present time. */
  readonly nowMs?: number;
}

/** The request is not from the service, or too old: answer it with 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

const TOLERANCE_SECONDS = 300;
const encoder = new TextEncoder();

/**
 * Verifies the signature of a webhook (Standard Webhooks) and returns its body.
 * @param body as it arrived: parsed and written again it would have another signature
 * @param secrets while a secret is rotated, the old one and the new one
 * @throws WebhookVerificationError
 */
export const verifyWebhook = async (
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, nowMs = Date.now() }: VerifyOptions = {},
): Promise<ExchangeEvent> => {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time');
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too far from the present time');
  }
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  const signed = joined(encoder.encode(`${id}.${timestamp}.`), bytes);
  const given = signatures.flatMap((signature) => signatureOf(signature) ?? []);
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await keyOf(secret);
    for (const signature of given) {
      // Compares in constant time.
      if (!(await crypto.subtle.verify('HMAC', key, signature, signed))) continue;
      return JSON.parse(new TextDecoder().decode(bytes)) as ExchangeEvent;
    }
  }
  throw new WebhookVerificationError('webhook-signature matches no secret');
};

const isHeaders = (headers: WebhookHeaders): headers is Headers => typeof headers['get'] === 'function';

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value = isHeaders(headers) ? headers.get(name) : headers[name];
  if (typeof value !== 'string') throw new WebhookVerificationError(`${name} is missing`);
  return value;
};

const joined = (first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
};

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Undefined for another version, and for what is not base64. */
const signatureOf = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  if (!text.startsWith('v1,')) return undefined;
  try {
    return fromBase64(text.slice('v1,'.length));
  } catch {
    return undefined;
  }
};

/** After `whsec_` a secret is base64; any other secret is used as it is. */
const keyOf = (secret: string) => {
  // An unset variable: anyone could sign with it.
  if (secret === '') throw new TypeError('The secret is empty.');
  const bytes = secret.startsWith('whsec_')
    ? fromBase64(secret.slice('whsec_'.length))
    : encoder.encode(secret);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
};
