/** One exchange with the service, as its document shows it. */
export interface Example {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  readonly status: number;
  /** JSON, or the beginning of a text. Absent: no body, or bytes. */
  readonly answer?: unknown;
}

/** Keyed by operation id. */
export type Examples = Readonly<Record<string, Example>>;
