export interface Segment {
  readonly firstRevision: number;
  readonly lastRevision: number;
  /** When the last event was recorded, in milliseconds since the epoch. */
  readonly recordedAtMs: number;
  readonly fingerprints: Uint32Array;
  readonly commands: Uint32Array;
}

/** May be missing, because the projection lags or was emptied. Existing segments are correct. */
export interface Segments {
  /** A page of segments that end before `revision`, newest first. */
  before(customerId: number, sourceId: string, revision: number): Promise<readonly Segment[]>;
  ofCommand(customerId: number, sourceId: string, commandId: string): Promise<readonly number[]>;
}

export const noSegments: Segments = { before: async () => [], ofCommand: async () => [] };
