import { createHash, type Hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

/** Asked of the thread, in order; each is answered once its bytes are in the sum. */
export interface SumRequest {
  readonly request: number;
  readonly sum: number;
  /** In memory that is shared. */
  readonly bytes: readonly Uint8Array[];
  readonly end?: 'digest' | 'forget';
}

export interface SumAnswer {
  readonly request: number;
  /** Hex, where a digest was asked for. */
  readonly digest?: string;
}

const hashes = new Map<number, Hash>();

const answer = ({ request, sum, bytes, end }: SumRequest): SumAnswer => {
  const hash = hashes.get(sum) ?? createHash('sha256');
  for (const part of bytes) hash.update(part);
  if (end === undefined) hashes.set(sum, hash);
  else hashes.delete(sum);
  return end === 'digest' ? { request, digest: hash.digest('hex') } : { request };
};

parentPort?.on('message', (asked: SumRequest) => parentPort?.postMessage(answer(asked)));
