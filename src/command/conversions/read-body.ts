import { scanItems } from '../../domain/conversions/scan-items.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { parseJsonBody } from '../../shared/http/json-ingress.ts';
import type { QuickBody } from '../../shared/http/route.ts';
import { canonicalAround, canonicalJson } from '../../shared/idempotency/canonical-json.ts';
import { LogConversionsBody } from './conversion-input.ts';

/** Smaller ones are parsed in no time. */
export const QUICK_BYTES_MIN = 4_096;

/**
 * The checked body of a call of many plain events, read in one pass over its bytes (`scan-items.ts`); undefined for
 * any other, and for whatever is to be refused: JSON and the schema say why.
 * @param isKeyed its fingerprint is wanted: the pass writes the body's canonical JSON as well
 */
export const readConversions = (
  bytes: Buffer,
  isKeyed: boolean,
): QuickBody<LogConversionsBody> | undefined => {
  if (bytes.length < QUICK_BYTES_MIN) return undefined;
  const scanned = scanItems(
    bytes,
    bytes.toString('latin1'),
    (from, to) => unlessRefused(() => ({ item: parseJsonBody(bytes.subarray(from, to), false) })),
    isKeyed ? (item) => Buffer.from(canonicalJson(item)) : undefined,
  );
  if (scanned === undefined) return undefined;
  const rest = unlessRefused(() => parseJsonBody(Buffer.from(scanned.rest, 'latin1')));
  const checked = LogConversionsBody.safeParse(rest);
  // What is confirmed has a fingerprint, which is taken of the parsed body.
  if (!checked.success || checked.data.confirm !== undefined) return undefined;
  const body = { ...checked.data, events: scanned.items };
  if (scanned.canonicalItems === undefined) return { body };
  const [before, after] = canonicalAround(rest as Readonly<Record<string, unknown>>, 'events');
  return { body, canonical: [before, scanned.canonicalItems, after] };
};

const unlessRefused = <Value>(parse: () => Value): Value | undefined => {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
};
