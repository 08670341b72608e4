import { createHash } from 'node:crypto';

/**
 * The hash chain over the log: h(n) = SHA-256(h(n-1), bytes of event n). Whoever knows h(n) knows every event up to n, in
 * this order and no other.
 */

/** What of each value of the chain is kept beside its checkpoint: enough to say where it was left. */
export const LEAF_BYTES = 8;

/** One chain over one log: another format, or another place to begin, is another chain. */
export interface ChainIdentity {
  /** From 1. */
  readonly chain: number;
  /** How events become bytes: `LogBytes.format`. */
  readonly format: string;
}

/** @param previous what the chain before came to: whoever knows a value of this one knows that one whole, too */
export const genesis = ({ chain, format }: ChainIdentity, previous?: Buffer): Buffer =>
  createHash('sha256')
    .update(`buyer-exchange log chain ${chain} of ${format}`)
    .update(previous === undefined ? '' : ` behind ${previous.toString('hex')}`)
    .digest();

/** @param bytes of the event, as text in UTF-8 */
export const nextHash = (hash: Buffer, bytes: string): Buffer =>
  createHash('sha256').update(hash).update(bytes).digest();

/** An event as the chain takes it: every column, each of a length that is known before it comes. */
export interface EventColumns {
  readonly position: string;
  readonly revision: number;
  readonly id: string;
  readonly recordedAtMicros: number;
  readonly stream: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** The same as `bytesSql` of `log-bytes.ts` makes of a row. */
export const eventBytes = (event: EventColumns): string => {
  const { stream, type, data, metadata } = event;
  const lengths = [stream, type, data, metadata].map((text) => Buffer.byteLength(text));
  const head = [event.position, event.revision, event.id, event.recordedAtMicros, ...lengths].join(' ');
  return `${head}\n${stream}${type}${data}${metadata}`;
};
