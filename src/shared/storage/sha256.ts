import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { packageDirectory } from '../package-directory.ts';
import type { SumAnswer, SumRequest } from './sha256-thread.ts';

/** The SHA-256 of bytes that come one after the other. */
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

/**
 * Sums are made on a thread of their own, which begins when it is first needed: ten megabytes take some eight milliseconds,
 * in which the thread that reads them from sockets would do nothing else. What is summed up at once is not worth the way.
 */
export const createSums = (): { begin(): Sum } => {
  let thread: Worker | undefined;
  let requests = 0;
  let sums = 0;
  const waiting = new Map<number, Waiting>();

  const begin = (): Worker => {
    const worker = new Worker(join(packageDirectory, 'dist', 'bundle', 'sha256-thread.js'));
    worker.on('message', (answer: SumAnswer) => {
      waiting.get(answer.request)?.resolve(answer);
      waiting.delete(answer.request);
    });
    const over = (cause?: Error): void => {
      if (thread === worker) thread = undefined;
      for (const { reject } of waiting.values()) reject(new Error('the thread of sums has ended', { cause }));
      waiting.clear();
    };
    worker.once('error', over);
    worker.once('exit', () => over());
    // Behind the listeners, which take it back: whoever waits for a sum has other things open.
    worker.unref();
    return worker;
  };

  const ask = (asked: Omit<SumRequest, 'request'>): Promise<SumAnswer> =>
    new Promise((resolve, reject) => {
      const request = (requests += 1);
      waiting.set(request, { resolve, reject });
      thread ??= begin();
      thread.postMessage({ ...asked, request } satisfies SumRequest);
    });

  return {
    begin: () => {
      const sum = (sums += 1);
      let of: Worker | undefined;
      /** The thread that has the bytes before these has them alone. */
      const askTheSame = (asked: Omit<SumRequest, 'request' | 'sum'>): Promise<SumAnswer> => {
        if (of !== undefined && of !== thread)
          return Promise.reject(new Error('the thread of sums has ended'));
        const answered = ask({ sum, ...asked });
        of = thread;
        return answered;
      };
      return {
        add: async (bytes) => void (await askTheSame({ bytes })),
        digest: async (bytes) => {
          if (of === undefined) return digestOf(bytes);
          const { digest } = await askTheSame({ bytes, end: 'digest' });
          of = undefined;
          return digest as string;
        },
        forget: () => {
          if (of !== undefined) askTheSame({ bytes: [], end: 'forget' }).catch(() => undefined);
          of = undefined;
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
