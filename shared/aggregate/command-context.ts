/** Where a command comes from: goes into the metadata of every event it leads to. */
export interface CommandContext {
  /** One per command, the same when it is repeated; event ids derive from it. */
  readonly commandId: string;
  readonly customerId: number;
  readonly actor: string;
  readonly requestId: string;
  /** Of the request that everything began with. Default: this one. */
  readonly correlationId?: string;
  /**
   * True for what the service does by itself with a thing: it belongs to what the stream's last event belongs to, as far
   * as that is known without reading the stream for it.
   */
  readonly continues?: boolean;
  /** Called when it is certain whose run of the command the events of its outcome are from. Not stored. */
  readonly onEvents?: (run: 'this-run' | 'earlier-run') => void;
}
