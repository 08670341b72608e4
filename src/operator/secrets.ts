import type { Backbone } from '../composition.ts';
import { keyRingOf } from '../shared/secrets/key-ring.ts';
import { reEncryptSecrets } from '../shared/secrets/re-encrypt-secrets.ts';
import type { Config } from '../shared/config.ts';

/**
 * Encrypts every secret with the first key of the installation, beside a running service; each line says how far it is.
 * @returns whether every secret could be read
 */
export async function* reEncrypt(
  { pool }: Pick<Backbone, 'pool'>,
  config: Pick<Config, 'SECRET_KEYS' | 'DATA_DIR'>,
): AsyncGenerator<string, boolean> {
  const keys = await keyRingOf(config)();
  const [missing, needed] = [new Map<string, number>(), new Map<string, number>()];
  let [seen, done] = [0, 0];
  for await (const page of reEncryptSecrets(pool, keys)) {
    seen += page.seen;
    done += page.done;
    addTo(missing, page.unreadable);
    addTo(needed, page.needed);
    yield `${seen} secrets looked at, ${done} of them encrypted with ${keys[0].id} now`;
  }
  for (const [keyId, count] of missing) {
    yield `${count} secrets were left as they are: ${
      keys.some(({ id }) => id === keyId) ? 'they are not what was sealed with' : 'there is no key'
    } ${keyId}`;
  }
  for (const [id, count] of byId(needed)) yield `key ${id}: ${count} secrets`;
  for (const { id } of keys.slice(1)) if (!needed.has(id)) yield `key ${id}: no secret needs it any more`;
  return missing.size === 0;
}

const byId = (sums: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...sums].sort(([one], [other]) => (one < other ? -1 : 1));

const addTo = (sums: Map<string, number>, counts: Readonly<Record<string, number>>): void => {
  for (const [keyId, count] of Object.entries(counts)) sums.set(keyId, (sums.get(keyId) ?? 0) + count);
};
