import { createHash } from 'node:crypto';

/** The hash chain over the log: h(n) = SHA-256(h(n-1), bytes of event n). h(n) fixes events 1 to n and their order. */

/** Bytes of each event's hash that its checkpoint stores: enough to find the first event that differs. */
export const LEAF_BYTES = 8;

/** Identifies a chain. Another format or another start is another chain. */
export interface ChainIdentity {
  /** From 1. */
  readonly chain: number;
  /** How events are encoded as bytes: `LogBytes.format`. */
  readonly format: string;
}

/** @param previous end hash of the previous chain: the new chain's hashes then also fix the previous chain */
export const genesis = ({ chain, format }: ChainIdentity, previous?: Buffer): Buffer =>
  createHash('sha256')
    .update(`buyer-exchange log chain ${chain} of ${format}`)
    .update(previous === undefined ? '' : ` behind ${previous.toString('hex')}`)
    .digest();

/** @param bytes the encoded event, UTF-8 text */
export const nextHash = (hash: Buffer, bytes: string): Buffer =>
  createHash('sha256').update(hash).update(bytes).digest();

/** The encoded columns of an event. The encoding starts with the lengths of the texts, so it is unambiguous. */
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

/** Must give the same text as `bytesSql` in `log-bytes.ts`. */
export const eventBytes = (event: EventColumns): string => {
  const { stream, type, data, metadata } = event;
  const lengths = [stream, type, data, metadata].map((text) => Buffer.byteLength(text));
  const head = [event.position, event.revision, event.id, event.recordedAtMicros, ...lengths].join(' ');
  return `${head}\n${stream}${type}${data}${metadata}`;
};
