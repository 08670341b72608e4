import { advertiserEvents } from '../../../domain/advertisers/events.ts';
import { ADVERTISER, advertiserAggregate } from '../../../domain/advertisers/advertiser.ts';
import { agentEvents } from '../../../domain/agents/events.ts';
import { AGENT, agentFold } from '../../../domain/agents/agent.ts';
import { assetEvents } from '../../../domain/assets/events.ts';
import { ASSET, assetAggregate } from '../../../domain/assets/asset.ts';
import { campaignEvents } from '../../../domain/campaigns/events.ts';
import { CAMPAIGN, campaignAggregate } from '../../../domain/campaigns/campaign.ts';
import { creativeSessionEvents } from '../../../domain/creative-sessions/events.ts';
import {
  CREATIVE_SESSION,
  creativeSessionAggregate,
} from '../../../domain/creative-sessions/creative-session.ts';
import { creativeEvents } from '../../../domain/creatives/events.ts';
import { creativeNameEvents } from '../../../domain/creatives/creative-names.ts';
import { CREATIVE_NAMES, creativeNamesAggregate } from '../../../domain/creatives/creative-names.ts';
import { CREATIVE, creativeAggregate } from '../../../domain/creatives/creative.ts';
import { engineConnectionEvents } from '../../../domain/engines/events.ts';
import { ENGINE_CONNECTION, engineConnectionAggregate } from '../../../domain/engines/engine-connection.ts';
import { taskEvents } from '../../../domain/tasks/events.ts';
import { TASK, taskAggregate } from '../../../domain/tasks/task.ts';
import type { SchemaVersions } from '../../../shared/aggregate/event-versions.ts';
import { toDomainEvent } from '../../../shared/aggregate/recorded-domain-event.ts';
import {
  categoryOf,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../../shared/event-store/event-store.ts';

/** How to fold the streams of a category. */
interface Fold {
  readonly initialState: unknown;
  readonly evolve: (state: unknown, event: RecordedEvent) => unknown;
}

const foldOf = <State>(
  { initialState, evolve }: { readonly initialState: State; evolve(state: State, event: never): State },
  schemas: SchemaVersions,
): Fold => ({
  initialState,
  evolve: (state, recorded) => evolve(state as State, toDomainEvent(recorded, schemas) as never),
});

/** The categories to which clients write. */
const folds: Readonly<Record<string, Fold>> = {
  [ADVERTISER]: foldOf(advertiserAggregate, advertiserEvents),
  [AGENT]: foldOf(agentFold, agentEvents),
  [CAMPAIGN]: foldOf(campaignAggregate, campaignEvents),
  [CREATIVE]: foldOf(creativeAggregate, creativeEvents),
  [CREATIVE_NAMES]: foldOf(creativeNamesAggregate, creativeNameEvents),
  [CREATIVE_SESSION]: foldOf(creativeSessionAggregate, creativeSessionEvents),
  [ENGINE_CONNECTION]: foldOf(engineConnectionAggregate, engineConnectionEvents),
  [ASSET]: foldOf(assetAggregate, assetEvents),
  [TASK]: foldOf(taskAggregate, taskEvents),
};

/** Reads the events of these categories from the log. */
export const logOf = async (store: EventStore): Promise<readonly RecordedEvent[]> => {
  const log: RecordedEvent[] = [];
  for (let after = START; ;) {
    const page = await store.readAll({ after, limit: 1_000 });
    const last = page.at(-1);
    if (last === undefined) return log.filter(({ stream }) => Object.hasOwn(folds, categoryOf(stream)));
    log.push(...page);
    after = last.position;
  }
};

/** The states of every stream after each of its events. */
export type Streams = ReadonlyMap<string, readonly unknown[]>;

export const foldStreams = (log: readonly RecordedEvent[]): Streams => {
  const streams = new Map<string, unknown[]>();
  for (const event of log) {
    const fold = folds[categoryOf(event.stream)];
    if (fold === undefined) continue;
    const states = streams.get(event.stream) ?? [];
    states.push(fold.evolve(states.length === 0 ? fold.initialState : states.at(-1), event));
    streams.set(event.stream, states);
  }
  return streams;
};

/** The last state of each stream in a category. */
export const lastOf = (streams: Streams, category: string): readonly unknown[] =>
  [...streams].filter(([stream]) => categoryOf(stream) === category).map(([, states]) => states.at(-1));
