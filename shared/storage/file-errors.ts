import { ObjectStoreUnavailableError } from './object-store.ts';

/** @throws ObjectStoreUnavailableError on any file-system error, e.g. a full disk or a lost mount */
export const orUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ObjectStoreUnavailableError) throw error;
    throw new ObjectStoreUnavailableError('file system error', { cause: error });
  }
};

export const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
