import { join } from 'node:path';
import { createFolderStore } from './folder-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { S3Location } from './s3-location.ts';

/** The S3 SDK takes time and memory to load. */
export const openObjectStore = async (
  location: S3Location | undefined,
  dataDir: string,
): Promise<ObjectStore> => {
  if (location === undefined) return createFolderStore(join(dataDir, 'assets'));
  const { createS3Store } = await import('./s3-store.ts');
  return createS3Store(location, join(dataDir, 'uploads'));
};
