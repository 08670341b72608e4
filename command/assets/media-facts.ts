/** Pixels and milliseconds; absent when the format or the file does not give them. */
export interface MediaFacts {
  readonly width?: number;
  readonly height?: number;
  readonly durationMs?: number;
}

/** The bytes start like their format but violate it: truncated or malicious. */
export class UnreadableMediaError extends Error {
  override readonly name = 'UnreadableMediaError';
}
