/** Where a command comes from: goes into the metadata of every event it leads to. */
export interface CommandContext {
  /** One per command, the same when it is repeated; event ids derive from it. */
  readonly commandId: string;
  readonly customerId: number;
  readonly actor: string;
  readonly requestId: string;
}
