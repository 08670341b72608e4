export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly code: number;

  constructor(code: number) {
    super(`HTTP status ${code}`);
    this.code = code;
  }
}

/** A permanent failure. Its message may be shown. */
export class RefusedCallError extends Error {
  override readonly name = 'RefusedCallError';
}
