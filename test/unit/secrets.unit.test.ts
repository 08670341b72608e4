import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyedDigest } from '../../shared/secrets/keyed-digest.ts';
import { keyRingOfFile, parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { seal, unseal, UnreadableSecretError } from '../../shared/secrets/seal.ts';

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64url')}`;

describe('an encrypted secret', () => {
  const old = key('2025');
  const keys = parseKeyRing(old);

  it('is decrypted with its key and purpose', () => {
    const sealed = seal(keys, 'row 1', 'tökén');
    expect(unseal(keys, 'row 1', sealed)).toBe('tökén');
    expect(sealed.bytes.toString('latin1')).not.toContain('tökén');
    expect(seal(keys, 'row 1', 'tökén').bytes.equals(sealed.bytes)).toBe(false);
  });

  it('is decrypted after a new key was put first, but not after its own key was removed', () => {
    const sealed = seal(keys, 'row', 'token');
    const next = key('2026');
    const both = parseKeyRing(`${next}, ${old}`);
    expect(unseal(both, 'row', sealed)).toBe('token');
    expect(seal(both, 'row', 'token').keyId).toBe('2026');
    expect(() => unseal(parseKeyRing(next), 'row', sealed)).toThrow(UnreadableSecretError);
  });

  it('is not decrypted for another purpose, or if one bit differs', () => {
    const sealed = seal(keys, 'row 1', 'token');
    expect(() => unseal(keys, 'row 2', sealed)).toThrow(UnreadableSecretError);
    for (let at = 0; at < sealed.bytes.length; at++) {
      const bytes = Buffer.from(sealed.bytes);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      expect(() => unseal(keys, 'row 1', { ...sealed, bytes })).toThrow(UnreadableSecretError);
    }
    expect(() => unseal(keys, 'row 1', { ...sealed, bytes: Buffer.alloc(5) })).toThrow(UnreadableSecretError);
  });
});

it('an encrypted secret is not decrypted with a part of its tag', () => {
  const keys = parseKeyRing(key('2026'));
  const sealed = seal(keys, 'row', '');
  for (let length = 0; length < sealed.bytes.length; length++) {
    const bytes = sealed.bytes.subarray(0, length);
    expect(() => unseal(keys, 'row', { ...sealed, bytes })).toThrow(UnreadableSecretError);
  }
});

it('a digest depends on the purpose and on the key with the lowest id, in any order of keys', async () => {
  const [old, next] = [key('2025'), key('2026')];
  const digest = async (keys: string, purpose = 'a'): Promise<string> =>
    (await createKeyedDigest(purpose, async () => parseKeyRing(keys))(Buffer.from('x'))).toString('hex');
  const digested = await digest(old);
  expect([await digest(`${next},${old}`), await digest(`${old},${next}`)]).toEqual([digested, digested]);
  expect(new Set([digested, await digest(next), await digest(old, 'b')]).size).toBe(3);
});

describe('keys', () => {
  it.each(['', 'abc', 'a:short', `${key('a')},`, `a b:${'A'.repeat(43)}`, `${key('a')},${key('a')}`])(
    'cannot be read from %j, and the message does not show it',
    (text) => {
      expect(() => parseKeyRing(text)).toThrow(RangeError);
      try {
        parseKeyRing(text);
      } catch (error) {
        for (const part of text.split(/[:,]/)) {
          if (part.length > 5) expect(String(error)).not.toContain(part);
        }
      }
    },
  );
});

describe('the key file', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'keys-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('is created once, readable only by its owner, even if several processes start at once', async () => {
    const dataDir = join(directory, 'data');
    const rings = await Promise.all(Array.from({ length: 10 }, () => keyRingOfFile(dataDir)));
    const again = await keyRingOfFile(dataDir);
    for (const [first] of rings) expect(first.bytes.equals(again[0].bytes)).toBe(true);
    // Digests use the key with the lowest id, so they stay the same if a key of this year is added.
    expect(again[0].id < '2026').toBe(true);
    const files = await readdir(dataDir);
    expect(files).toEqual(['secret-keys.json']);
    expect((await stat(join(dataDir, 'secret-keys.json'))).mode & 0o777).toBe(0o600);
  });
});
