import { watchPrototypes } from './prototype-watch.ts';

/** What a process under attack says of itself when asked. */
export interface ProcessReport {
  /** Members of prototypes that have appeared or changed since it was last asked. */
  readonly polluted: readonly string[];
  /** Answers since then that do not fit their declarations. */
  readonly problems: readonly string[];
  /** Heap in use after a collection; only when asked for. */
  readonly heapBytes: number | undefined;
}

export interface Started {
  readonly port: number;
}

/** `heap` wants the memory measured, which takes a collection. */
export type Question = 'report' | 'heap';

/**
 * Tells the process that started this one where it listens, and answers its questions. Ends when it does.
 * @param takeProblems hands over what has been found wrong since the last call
 */
export const reportToParent = (port: number, takeProblems: () => readonly string[]): void => {
  const pollution = watchPrototypes();
  const tell = (message: Started | ProcessReport): void => {
    process.send?.(message);
  };
  process.on('message', (question: Question) => {
    if (question === 'heap') globalThis.gc?.();
    tell({
      polluted: pollution(),
      problems: takeProblems(),
      heapBytes: question === 'heap' ? process.memoryUsage().heapUsed : undefined,
    });
  });
  process.on('disconnect', () => process.exit());
  tell({ port });
};
