import { totalmem } from 'node:os';

/** What this process may use: the limit of its container, or the memory of the machine. */
export const memoryBytes = (): number => {
  const constrained = process.constrainedMemory?.() ?? 0;
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
};
