import type { JsonMembers, SyndicationRecord } from '../../../domain/syndication/resource.ts';

export interface Holders {
  /** Another advertiser of the account has a resource with this id there, or has one that is not deleted yet. */
  readonly isOtherAdvertisers: boolean;
  /** The same advertiser has the resource there through another registration of the agent. */
  readonly isOtherRegistrations: boolean;
  /** Some delivery or deletion of it has failed, so the agent's state is unknown. */
  readonly isUnsure: boolean;
}

export interface KeptResource {
  readonly advertiserId: number;
  readonly resourceId: string;
  /** The last request that the agent accepted, if it should have a newer version. */
  readonly stillThere?: JsonMembers | undefined;
  /** The update has failed, so the older version stays. */
  readonly hasFailed: boolean;
}

export interface AtAgents {
  /** Covers all registrations of the agent. @throws TryAgainError during a rebuild of the read model */
  holders(record: SyndicationRecord): Promise<Holders>;
  /** Resources that the agent's account should have now. @throws TryAgainError during a rebuild */
  kept(record: SyndicationRecord, countMax: number): Promise<readonly KeptResource[]>;
}
