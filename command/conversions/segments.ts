/** One row of the read model `conversion_segments`: consecutive events of a source's stream. */
export interface Segment {
  readonly firstRevision: number;
  readonly lastRevision: number;
  /** When the last event was recorded, in milliseconds since the epoch. */
  readonly recordedAtMs: number;
  readonly fingerprints: Uint32Array;
  /** Fingerprints of the commands that caused the events. */
  readonly commands: Uint32Array;
}

/**
 * A projection of the fingerprints in a source's stream, used to read it faster. Segments may be missing, because the
 * projection lags or was emptied. Existing segments are correct.
 */
export interface Segments {
  /** A page of segments that end before `revision`, newest first; empty when no more exist. */
  before(customerId: number, sourceId: string, revision: number): Promise<readonly Segment[]>;
  ofCommand(customerId: number, sourceId: string, commandId: string): Promise<readonly number[]>;
}

export const noSegments: Segments = { before: async () => [], ofCommand: async () => [] };
