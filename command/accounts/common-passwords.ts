import { brotliDecompressSync } from 'node:zlib';
import { commonPasswordsList } from './common-passwords-list.ts';

let known: ReadonlySet<string> | undefined;

/** Only passwords of at least 12 characters are in the list, because shorter ones are refused anyway. */
export const isCommonPassword = (password: string): boolean => {
  known ??= new Set(brotliDecompressSync(Buffer.from(commonPasswordsList, 'base64')).toString().split('\n'));
  return known.has(password.toLowerCase());
};
