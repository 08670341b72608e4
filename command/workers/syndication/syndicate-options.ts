import type { SnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import type { SyndicatedKinds } from '../../syndication/syndicated-kinds.ts';
import type { AudienceParts } from './audience-parts.ts';
import type { AskAgentOptions } from './ask-agent.ts';
import type { AtAgents } from './at-agents.ts';

/** What the worker needs to bring things to agents, and to take them away. */
export interface SyndicateOptions extends AskAgentOptions {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly kinds: SyndicatedKinds;
  readonly atAgents: AtAgents;
  readonly audienceParts: AudienceParts;
  /** Waits out a lost race for a stream. Default: by the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
}
