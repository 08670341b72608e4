import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { coalesce } from '../../shared/async/coalesce.ts';
import { byteaArray } from '../../shared/postgres/binary-array.ts';
import { rememberLast, sharedLookups } from './holder.ts';

/** A credential that is stored as its SHA-256 only. */
export interface PresentedSecret {
  readonly hash: Buffer;
  readonly hex: string;
}

/** @param form of every such credential: others are not looked up */
export const parseSecrets = (form: RegExp) =>
  rememberLast((secret: string): PresentedSecret | undefined => {
    if (!form.test(secret)) return undefined;
    const hash = createHash('sha256').update(secret).digest();
    return { hash, hex: hash.toString('hex') };
  });

interface StoredSecret {
  readonly hash: Buffer;
  readonly askedAt: number;
}

/** @param query for `$1::bytea[]`; selects the hash as `hash` */
export const findSecrets = <Stored extends StoredSecret>(
  pool: Pick<Pool, 'query'>,
  query: { readonly name: string; readonly text: string },
) =>
  coalesce(async (secrets: readonly PresentedSecret[]): Promise<readonly (Stored | undefined)[]> => {
    const askedAt = performance.now();
    const hashes = new Map(secrets.map(({ hex, hash }) => [hex, hash]));
    const { rows } = await pool.query<Stored>({ ...query, values: [byteaArray([...hashes.values()])] });
    const byHash = new Map(
      rows.map((row): [string, Stored] => [row.hash.toString('hex'), { ...row, askedAt }]),
    );
    return secrets.map(({ hex }) => byHash.get(hex));
  }, sharedLookups);
