import type { FuzzOptions } from './fuzz-run.ts';

/**
 * Reads `FUZZ_SEED`, `FUZZ_REQUESTS`, `FUZZ_RAW`, and `FUZZ_PATH`, which selects a single case.
 * @param size the defaults
 */
export const fuzzOptions = (size: { readonly requests: number; readonly raw: number }): FuzzOptions => ({
  seed: numberOf('FUZZ_SEED') ?? Math.floor(Math.random() * 1_000_000),
  requests: numberOf('FUZZ_REQUESTS') ?? size.requests,
  raw: numberOf('FUZZ_RAW') ?? size.raw,
  path: process.env['FUZZ_PATH'],
});

const numberOf = (name: string): number | undefined => {
  const text = process.env[name] ?? '';
  if (text === '') return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`${name} must be a whole number, not ${text}`);
  return value;
};
