import { createHash } from 'node:crypto';
import { canonicalJson, writeCanonicalJson } from '../json/canonical-json.ts';

export interface FingerprintParts {
  readonly method: string;
  readonly path: string;
  readonly pathValues: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export const fingerprintOf = ({ method, path, pathValues, body }: FingerprintParts): Buffer => {
  const hash = createHash('sha256').update(`${method} ${path}\n${canonicalJson(pathValues)}\n`);
  if (body !== undefined) writeCanonicalJson(body, (piece) => hash.update(piece));
  return hash.digest();
};
