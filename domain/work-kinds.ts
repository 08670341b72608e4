/** Kinds of `shared/work-list`: projections ask for them, workers do them. */
export const workKinds = {
  /** An agent that has not answered is asked again. Key: the agent. */
  agentCheck: 'agent-check',
  /** A feed is read. Key: the catalog. */
  catalogFeed: 'catalog-feed',
  /** Occasions. Revision: position of the last event; `data.since`: position of the first unseen one. */
  launchedCampaign: 'launched-campaign',
  changedCreative: 'changed-creative',
  /** Made of occasions (`command/workers/sellers`). Key: the creative. */
  submission: 'submission',
  /** Send or delete a resource. Key: the record; revision: its generation. */
  syndication: 'syndication',
} as const;
