/** An agent's server answered with this status. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly code: number;

  constructor(code: number) {
    super(`HTTP status ${code}`);
    this.code = code;
  }
}

/** A call that cannot be made, or can be made in no other way, however often it is tried. Its message may be shown. */
export class RefusedCallError extends Error {
  override readonly name = 'RefusedCallError';
}
