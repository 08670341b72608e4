import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { packageDirectory } from '../package-directory.ts';
import { ObjectStoreUnavailableError } from './object-store.ts';
import type { SumAnswer, SumRequest } from './sha256-thread.ts';

/** The SHA-256 of bytes that come one after the other. What fails is an ObjectStoreUnavailableError. */
export interface Sum {
  /**
   * Returns when the bytes are in the sum; until then they are not to be changed.
   * @param bytes in memory that threads share
   */
  add(bytes: readonly Buffer[]): Promise<void>;
  /** @returns the sum of what was added and of these, hex: the end of it */
  digest(bytes: readonly Buffer[]): Promise<string>;
  /** Ends one that nobody wants to know. */
  forget(): void;
}

interface Waiting {
  readonly resolve: (answer: SumAnswer) => void;
  readonly reject: (error: Error) => void;
}

type Ask = (asked: Omit<SumRequest, 'request'>) => Promise<SumAnswer>;

/** A little memory is enough for it, and is looked through often: what it was sent is not to be kept. */
const resourceLimits = { maxYoungGenerationSizeMb: 1 };

/** @param onEnd told when it has ended, and whoever waits with it: at once, and perhaps once more */
const beginThread = (onEnd: () => void): Ask => {
  const waiting = new Map<number, Waiting>();
  let requests = 0;
  let ended: Error | undefined;
  const over = (cause?: Error): void => {
    onEnd();
    ended ??= new ObjectStoreUnavailableError('the thread that sums up bytes has ended', { cause });
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  const file = join(packageDirectory, 'dist', 'bundle', 'sha256-thread.js');
  const worker = new Worker(file, { resourceLimits });
  worker.on('message', (answer: SumAnswer) => {
    waiting.get(answer.request)?.resolve(answer);
    waiting.delete(answer.request);
  });
  worker.on('error', over);
  worker.once('exit', () => over());
  // Behind the listeners, which take it back: whoever waits for a sum has other things open.
  worker.unref();
  return (asked) =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) throw ended;
      const request = (requests += 1);
      worker.postMessage({ ...asked, request } satisfies SumRequest);
      waiting.set(request, { resolve, reject });
    });
};

/**
 * Sums are made on a thread of their own, which begins when it is first needed: ten megabytes take some eight milliseconds,
 * in which the thread that reads them from sockets would do nothing else. What is summed up at once is not worth the way.
 * Whoever has a sum on a thread that ends has to begin again.
 */
export const createSums = (): { begin(): Sum } => {
  let thread: Ask | undefined;
  let sums = 0;
  const theThread = (): Ask => {
    if (thread !== undefined) return thread;
    const begun = beginThread(() => {
      if (thread === begun) thread = undefined;
    });
    return (thread = begun);
  };

  return {
    begin: () => {
      const sum = (sums += 1);
      /** Has the bytes before these. */
      let ask: Ask | undefined;
      return {
        add: async (bytes) => {
          ask ??= theThread();
          await ask({ sum, bytes });
        },
        digest: async (bytes) => {
          if (ask === undefined) return digestOf(bytes);
          const { digest } = await ask({ sum, bytes, end: 'digest' });
          ask = undefined;
          return digest as string;
        },
        forget: () => {
          ask?.({ sum, bytes: [], end: 'forget' }).catch(() => undefined);
          ask = undefined;
        },
      };
    },
  };
};

const digestOf = (bytes: readonly Buffer[]): string => {
  const hash = createHash('sha256');
  for (const part of bytes) hash.update(part);
  return hash.digest('hex');
};
