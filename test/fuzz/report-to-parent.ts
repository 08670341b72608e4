import { watchPrototypes } from './prototype-watch.ts';

/** The report of a process under attack. */
export interface ProcessReport {
  /** Members of prototypes that changed since the last report. */
  readonly polluted: readonly string[];
  /** Answers since the last report that differ from their declarations. */
  readonly problems: readonly string[];
  /** Heap in use after a garbage collection. Only for the question `heap`. */
  readonly heapBytes: number | undefined;
}

export interface StartMessage {
  readonly port: number;
}

/** `heap` measures the memory, which needs a garbage collection. */
export type Question = 'report' | 'heap';

/**
 * Sends the port to the parent process and answers its questions. Ends with the parent.
 * @param takeProblems returns the problems found since its last call
 */
export const reportToParent = (port: number, takeProblems: () => readonly string[]): void => {
  const pollution = watchPrototypes();
  const tell = (message: StartMessage | ProcessReport): void => {
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
