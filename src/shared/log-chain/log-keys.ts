import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { KeyRing } from '../secrets/key-ring.ts';

/** A signature of a checkpoint, and whose it is. */
export interface Signature {
  readonly keyId: string;
  readonly signature: Buffer;
}

export interface LogKeys {
  /** Undefined without a key: the chain is unsigned. */
  sign(text: string): Signature | undefined;
  /** `unknown`: made with a key that the settings do not know, so that anybody may have made it. */
  check(text: string, signature: Signature | undefined): 'valid' | 'invalid' | 'unsigned' | 'unknown';
  /** False: no checkpoint can be told from a forged one. */
  readonly canProve: boolean;
  /** The public key that is signed with. */
  readonly current: { readonly keyId: string; readonly publicKey: Buffer } | undefined;
}

export interface LogKeySettings {
  /** Seeds of Ed25519 keys; the first one signs. */
  readonly LOG_SIGNING_KEYS?: KeyRing | undefined;
  /** Public keys of such that sign no more, or that other machines sign with. */
  readonly LOG_VERIFY_KEYS?: KeyRing | undefined;
}

/** RFC 8410: what stands before the 32 bytes of an Ed25519 key in DER. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });

const publicBytesOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI.length);

export const logKeysOf = ({ LOG_SIGNING_KEYS, LOG_VERIFY_KEYS }: LogKeySettings): LogKeys => {
  const [signing] = LOG_SIGNING_KEYS ?? [];
  const own = signing && { keyId: signing.id, key: privateKeyOf(signing.bytes) };
  const publicKeys = new Map([
    ...(LOG_VERIFY_KEYS ?? []).map(({ id, bytes }) => [id, bytes] as const),
    ...(LOG_SIGNING_KEYS ?? []).map(({ id, bytes }) => [id, publicBytesOf(privateKeyOf(bytes))] as const),
  ]);
  return {
    sign: (text) => own && { keyId: own.keyId, signature: sign(null, Buffer.from(text), own.key) },
    check: (text, signature) => {
      if (signature === undefined) return 'unsigned';
      const bytes = publicKeys.get(signature.keyId);
      if (bytes === undefined) return 'unknown';
      const key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
      return verify(null, Buffer.from(text), key, signature.signature) ? 'valid' : 'invalid';
    },
    canProve: publicKeys.size > 0,
    current: own && { keyId: own.keyId, publicKey: publicBytesOf(own.key) },
  };
};

/** Keeps the public key that is signed with, so that it is still there when the private one is gone. */
export const keepPublicKey = async (pool: Pick<Pool, 'query'>, { current }: LogKeys): Promise<void> => {
  if (current === undefined) return;
  const { rows } = await pool.query<{ public_key: Buffer }>(
    `with kept as (insert into log_keys (key_id, public_key) values ($1, $2) on conflict do nothing)
     select public_key from log_keys where key_id = $1`,
    [current.keyId, current.publicKey],
  );
  const [known] = rows;
  if (known !== undefined && !known.public_key.equals(current.publicKey)) {
    throw new Error(
      `LOG_SIGNING_KEYS: another key was named ${current.keyId} before; give this one a name of its own`,
    );
  }
};

/** Every public key that was ever signed with, in the form of LOG_VERIFY_KEYS. */
export const listPublicKeys = async (pool: Pick<Pool, 'query'>): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ key_id: string; public_key: Buffer }>(
    'select key_id, public_key from log_keys order by first_used, key_id',
  );
  return rows.map(({ key_id: id, public_key: key }) => `${id}:${key.toString('base64url')}`);
};
