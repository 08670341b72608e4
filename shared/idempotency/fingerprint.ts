import { createHash } from 'node:crypto';
import { canonicalJson } from '../json/canonical-json.ts';

export interface FingerprintParts {
  readonly method: string;
  /** The route's pattern, e.g. `/api/v2/buyer/advertisers/{id}`. */
  readonly path: string;
  readonly pathValues: Readonly<Record<string, string>>;
  /** The parsed body as it was sent, unknown members included; undefined for none. */
  readonly body: unknown;
}

/** SHA-256 of what makes two requests the same request (decisions.md 1.2, fingerprint). */
export const fingerprintOf = ({ method, path, pathValues, body }: FingerprintParts): Buffer =>
  createHash('sha256')
    .update(`${method} ${path}\n${canonicalJson(pathValues)}\n`)
    .update(body === undefined ? '' : canonicalJson(body))
    .digest();
