/** The origin of a command. Stored in the metadata of its events. */
export interface CommandContext {
  /** The same for every run of a command. Event ids derive from it. */
  readonly commandId: string;
  readonly customerId: number;
  readonly actor: string;
  readonly requestId: string;
  /** Default: `requestId`. */
  readonly correlationId?: string;
  /**
   * True for commands of workers: their events get the correlation id of the stream's last event, unless a snapshot
   * replaced it.
   */
  readonly continues?: boolean;
  /** Called once it is certain which run of the command appended the events. Not stored. */
  readonly onEvents?: (run: 'this-run' | 'earlier-run') => void;
}
