import type { SnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import type { SyndicatedKinds } from '../../syndication/syndicated-kinds.ts';
import type { AudienceParts } from './audience-delivery.ts';
import type { AskAgentOptions } from './ask-agent.ts';
import type { AtAgents } from './at-agents.ts';

export interface SyndicateOptions extends AskAgentOptions {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly kinds: SyndicatedKinds;
  readonly atAgents: AtAgents;
  readonly audienceParts: AudienceParts;
  /** Delay after an append conflict. Default: the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
}
