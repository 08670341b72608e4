import { createHash } from 'node:crypto';
import { answerKey } from '../../../domain/proposals/resource.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { objectKeyOf, type ObjectStore } from '../../../shared/storage/object-store.ts';

/** Equal answers to one account are one object. @returns its SHA-256 in hex, and its key */
export const keepAnswer = async (
  objects: ObjectStore,
  customerId: number,
  answer: JsonObject,
): Promise<{ readonly digest: string; readonly ref: string }> => {
  const bytes = Buffer.from(JSON.stringify(answer));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const ref = answerKey(customerId, digest);
  const key = objectKeyOf(ref);
  if (key === undefined) throw new Error(`invalid key of an object: ${ref}`);
  if ((await objects.sizeOf(key)) === undefined) {
    const draft = await objects.begin(key, 'application/json');
    try {
      await draft.write(oneOf(bytes));
    } catch (error) {
      await draft.discard();
      throw error;
    }
    await draft.keep();
  }
  return { digest, ref };
};

const oneOf = async function* (bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
};
