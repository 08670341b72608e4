import { createHash } from 'node:crypto';
import { personalParts } from '../../domain/personal-data/split-personal-data.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { nodeOf } from '../../shared/personal-data/key-tree.ts';
import type { PersonalKeys } from '../../shared/personal-data/personal-keys.ts';
import type { KeySet } from '../../shared/personal-data/sealed-items.ts';
import { createSealedStore } from '../../shared/personal-data/sealed-store.ts';
import { idIn } from './example-data.ts';

/** The keys of golden files. They are not secret. */

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

export const goldenKeySet: KeySet = {
  id: idIn(0, 'keys'),
  whole: hash('whole'),
  tree: new Map([['', nodeOf(Buffer.concat(Array.from({ length: 16 }, (_, n) => hash(`seed ${n}`))))]]),
};

const keys: PersonalKeys = {
  current: async () => goldenKeySet,
  of: async () => goldenKeySet,
  puncture: () => Promise.reject(new Error('golden keys stay')),
  forget: () => Promise.reject(new Error('golden keys stay')),
};

/** A store of golden events that decrypts as the program does. */
export const goldenStore = (store: EventStore): EventStore => createSealedStore(store, keys, personalParts);
