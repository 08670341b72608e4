/** Every permitted change of a syndication record's status, as `FROM>TO` (specification, Syndication record). */
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
  // The resource has changed.
  'COMPLETED>PENDING',
]);

/** Permitted changes from event to event: some events add details to an unchanged status. */
export const legalSteps: ReadonlySet<string> = new Set([
  ...legalChanges,
  // The agent was asked to delete its copy.
  'DISABLED>DISABLED',
  // The agent has accepted a task, or a late answer concerns an earlier generation.
  'SYNCING>SYNCING',
  'PENDING>PENDING',
]);
