import { createHash } from 'node:crypto';
import { canonicalJson } from '../json/canonical-json.ts';

export interface FingerprintParts {
  readonly method: string;
  readonly path: string;
  readonly pathValues: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export const fingerprintOf = ({ method, path, pathValues, body }: FingerprintParts): Buffer =>
  createHash('sha256')
    .update(`${method} ${path}\n${canonicalJson(pathValues)}\n`)
    .update(body === undefined ? '' : canonicalJson(body))
    .digest();
