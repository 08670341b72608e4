/** What the read model `conversion_segments` holds of one or more events in a row of a source's stream. */
export interface Segment {
  readonly firstRevision: number;
  readonly lastRevision: number;
  /** Milliseconds since the epoch; of the last event. */
  readonly recordedAtMs: number;
  /** Of the items; four words each. */
  readonly fingerprints: Uint32Array;
  /** Of the commands that led to the events. */
  readonly commands: Uint32Array;
}

/**
 * The fingerprints of a source's stream, derived from it by a projection: a quicker way to read the stream, and never
 * more than that. It may lack anything (it lags, it was emptied); what it has is right.
 */
export interface Segments {
  /** A page of segments that end before a revision, the newest first; empty when there is none. */
  before(customerId: number, sourceId: string, revision: number): Promise<readonly Segment[]>;
  /** Revisions of the events of one command, as far as they are there. */
  ofCommand(customerId: number, sourceId: string, commandId: string): Promise<readonly number[]>;
}

/** Where there are none: everything is read from the stream. */
export const noSegments: Segments = { before: async () => [], ofCommand: async () => [] };
