export interface CommandContext {
  /** The same for every run of a command: event ids derive from it. */
  readonly commandId: string;
  readonly customerId: number;
  readonly actor: string;
  readonly requestId: string;
  /** Default: `requestId`. */
  readonly correlationId?: string;
  /** For workers: use the correlation id of the stream's last event, unless a snapshot replaced it. */
  readonly continues?: boolean;
  /** False only if no earlier run of this command can have appended events: then a snapshot suffices. Default: true. */
  readonly hasRunBefore?: () => Promise<boolean>;
  /** Called once it is certain which run of the command appended the events. */
  readonly onEvents?: (run: 'this-run' | 'earlier-run') => void;
}
