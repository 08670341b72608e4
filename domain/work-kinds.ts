/** Kinds of entries of the list of work (`shared/work-list`): projections ask for them, workers do them. */
export const workKinds = {
  /** An agent that has not answered is asked again. Key: the agent. */
  agentCheck: 'agent-check',
  /** A feed is read. Key: the catalog. */
  catalogFeed: 'catalog-feed',
  /**
   * Occasions to submit something: a campaign was launched, a creative has changed. Key: the campaign, the creative;
   * revision: position of the last event; `data.since`: position of the first one that no worker has looked at.
   */
  launchedCampaign: 'launched-campaign',
  changedCreative: 'changed-creative',
  /** A creative is submitted to sellers, made of occasions (`command/workers/sellers`). Key: the creative. */
  submission: 'submission',
  /** A resource is brought to an agent or dropped there. Key: the record; revision: its generation. */
  syndication: 'syndication',
} as const;
