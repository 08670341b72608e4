import { createHash } from 'node:crypto';

/** h(n) = SHA-256(h(n-1), bytes of event n) fixes events 1 to n and their order. */

/** Enough to find the first event that differs. */
export const LEAF_BYTES = 8;

export interface ChainIdentity {
  readonly chain: number;
  readonly format: string;
}

/** @param previous end hash of the previous chain, which the new hashes then also fix */
export const genesis = ({ chain, format }: ChainIdentity, previous?: Buffer): Buffer =>
  createHash('sha256')
    .update(`buyer-exchange log chain ${chain} of ${format}`)
    .update(previous === undefined ? '' : ` behind ${previous.toString('hex')}`)
    .digest();

export const nextHash = (hash: Buffer, bytes: string): Buffer =>
  createHash('sha256').update(hash).update(bytes).digest();

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

/** Same text as `bytesSql` in `log-bytes.ts`. Unambiguous: the lengths of the texts come first. */
export const eventBytes = (event: EventColumns): string => {
  const { stream, type, data, metadata } = event;
  const lengths = [stream, type, data, metadata].map((text) => Buffer.byteLength(text));
  const head = [event.position, event.revision, event.id, event.recordedAtMicros, ...lengths].join(' ');
  return `${head}\n${stream}${type}${data}${metadata}`;
};
