/** Kinds of `shared/work-list`: projections ask for them, workers do them. */
export const workKinds = {
  /** An agent that has not answered is asked again. Key: the agent. */
  agentCheck: 'agent-check',
  /** A feed is read. Key: the catalog. */
  catalogFeed: 'catalog-feed',
  /**
   * Occasions. Key: campaign, creative; revision: the last event's position; `data.since`: the first unseen
   * one's.
   */
  launchedCampaign: 'launched-campaign',
  changedCreative: 'changed-creative',
  /** Made of occasions (`command/workers/sellers`). Key: the creative. */
  submission: 'submission',
  /** Send or delete a resource. Key: the record; revision: its generation. */
  syndication: 'syndication',
} as const;
