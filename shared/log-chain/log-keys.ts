import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { KeyRing } from '../secrets/key-ring.ts';

export interface Signature {
  readonly keyId: string;
  readonly signature: Buffer;
}

export interface LogKeys {
  /** Undefined without a signing key. */
  sign(text: string): Signature | undefined;
  /** `unknown`: the key is not in the settings, so the signature proves nothing. */
  check(text: string, signature: Signature | undefined): 'valid' | 'invalid' | 'unsigned' | 'unknown';
  /** False: without any key, a forged checkpoint cannot be detected. */
  readonly canProve: boolean;
  readonly current: { readonly keyId: string; readonly publicKey: Buffer } | undefined;
}

export interface LogKeySettings {
  /** The first key signs. */
  readonly LOG_SIGNING_KEYS?: KeyRing | undefined;
  /** Retired keys, and other machines' keys. */
  readonly LOG_VERIFY_KEYS?: KeyRing | undefined;
}

/** DER prefixes of Ed25519 keys, followed by the 32 bytes of the key (RFC 8410). */
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

export const isAnyKeyKept = async (pool: Pick<Pool, 'query'>): Promise<boolean> =>
  (await pool.query('select from log_keys limit 1')).rowCount === 1;

export const isNameTaken = async (pool: Pick<Pool, 'query'>, { current }: LogKeys): Promise<boolean> => {
  if (current === undefined) return false;
  const values = [current.keyId, current.publicKey];
  const text = 'select from log_keys where key_id = $1 and public_key <> $2';
  return (await pool.query(text, values)).rowCount === 1;
};

/** After the key's first checkpoint: a key without checkpoints means that they were removed. */
export const keepPublicKey = async (pool: Pick<Pool, 'query'>, { current }: LogKeys): Promise<void> => {
  if (current === undefined) return;
  await pool.query('insert into log_keys (key_id, public_key) values ($1, $2) on conflict do nothing', [
    current.keyId,
    current.publicKey,
  ]);
};

/** In the format of LOG_VERIFY_KEYS. */
export const listPublicKeys = async (
  pool: Pick<Pool, 'query'>,
  { current }: LogKeys,
): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ key_id: string; public_key: Buffer }>(
    'select key_id, public_key from log_keys order by first_used, key_id',
  );
  const keys = rows.map(({ key_id: id, public_key: key }) => `${id}:${key.toString('base64url')}`);
  const own = current && `${current.keyId}:${current.publicKey.toString('base64url')}`;
  return own === undefined || keys.includes(own) ? keys : [...keys, own];
};
