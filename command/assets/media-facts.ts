/** What bytes say of themselves. Pixels and milliseconds; absent where the format has none, or leaves it open. */
export interface MediaFacts {
  readonly width?: number;
  readonly height?: number;
  readonly durationMs?: number;
}

/** The bytes begin like their format and are not of it: cut off, or made to mislead. */
export class UnreadableMediaError extends Error {
  override readonly name = 'UnreadableMediaError';
}
