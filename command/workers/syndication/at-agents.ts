import type { JsonMembers, SyndicationRecord } from '../../../domain/syndication/syndication-resource.ts';

export interface Holders {
  /** Another advertiser of the account has a resource with this id there, or has one that is not deleted yet. */
  readonly isOtherAdvertisers: boolean;
  /** The same advertiser has the resource there through another registration of the agent. */
  readonly isOtherRegistrations: boolean;
  /** Some delivery or deletion of it has failed, so the agent's state is unknown. */
  readonly isUnsure: boolean;
}

/** A resource that the agent must keep. */
export interface KeptResource {
  readonly advertiserId: number;
  readonly resourceId: string;
  /** The last request that the agent accepted, if it should have a newer version. */
  readonly stillThere?: JsonMembers | undefined;
  /** The update has failed, so the older version stays. */
  readonly hasFailed: boolean;
}

/** What agents store, according to the read model. */
export interface AtAgents {
  /**
   * Finds other records with this id at the same account of the agent, over all its registrations. @throws
   * TryAgainError during a rebuild of the read model
   */
  holders(record: SyndicationRecord): Promise<Holders>;
  /**
   * The resources of one type that belong at an agent's account now, by advertiser. @throws TryAgainError during a
   * rebuild of the read model
   */
  kept(record: SyndicationRecord, countMax: number): Promise<readonly KeptResource[]>;
}
