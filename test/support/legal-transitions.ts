/** Every change of a syndication record's status that may be, as `FROM>TO` (specification, Syndication record). */
export const legalChanges: ReadonlySet<string> = new Set([
  'NONE>PENDING',
  'NONE>DISABLED',
  'PENDING>SYNCING',
  'PENDING>FAILED',
  'SYNCING>COMPLETED',
  'SYNCING>FAILED',
  ...['PENDING', 'SYNCING', 'COMPLETED', 'FAILED'].map((status) => `${status}>DISABLED`),
  'DISABLED>PENDING',
  'FAILED>PENDING',
  // It was changed.
  'COMPLETED>PENDING',
]);

/** The same from event to event: some say more of what stays as it is. */
export const legalSteps: ReadonlySet<string> = new Set([
  ...legalChanges,
  // The agent was told to drop it.
  'DISABLED>DISABLED',
  // The agent has taken it in; or what an earlier generation had asked for, which the answer told too late.
  'SYNCING>SYNCING',
  'PENDING>PENDING',
]);
