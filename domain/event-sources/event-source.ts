import { accept, refuse, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import { eventSourceEvents, type EventSourceEvent } from './events.ts';
import type { EventSource, EventSourceDefinition } from './resource.ts';

export const EVENT_SOURCE = 'eventSource';

export const eventSourceStream = (customerId: number, sourceId: string): string =>
  `${EVENT_SOURCE}-${customerId}-${sourceId}`;

export type EventSourceState = { readonly status: 'NONE' } | EventSource;

const initialState = { status: 'NONE' } as const;

const evolve = (state: EventSourceState, event: EventSourceEvent): EventSourceState => {
  const at = event.occurredAt;
  if (event.type === 'EventSourceCreated') {
    const { definition, ...identity } = event.data;
    return {
      ...identity,
      ...definition,
      status: 'ACTIVE',
      lastChange: 'created',
      createdAt: at,
      updatedAt: at,
    };
  }
  if (state.status === 'NONE') return state;
  switch (event.type) {
    case 'EventSourceUpdated':
      return { ...redefined(state, event.data.definition), lastChange: 'updated', updatedAt: at };
    case 'EventSourceArchived':
      return { ...state, status: 'ARCHIVED', lastChange: 'deleted', updatedAt: at };
    case 'EventSourceRestored':
      return {
        ...redefined(state, event.data.definition),
        status: 'ACTIVE',
        lastChange: 'created',
        updatedAt: at,
      };
    default:
      return (event satisfies never, state);
  }
};

const redefined = (state: EventSource, definition: EventSourceDefinition): EventSource => {
  const { sourceId, key, customerId, advertiserId, status, lastChange, createdAt, updatedAt } = state;
  const identity = { sourceId, key, customerId, advertiserId, status, lastChange, createdAt, updatedAt };
  return { ...identity, ...definition };
};

export interface SyncEventSource {
  readonly type: 'SyncEventSource';
  readonly now: string;
  readonly sourceId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  readonly definition: EventSourceDefinition;
}

export type EventSourceCommand =
  SyncEventSource | { readonly type: 'ArchiveEventSource'; readonly now: string };

export interface EventSourceRefusal {
  readonly reason: 'not-found';
}

type EventSourceDecision = Decision<EventSourceEvent, EventSourceRefusal>;

const sync = (command: SyncEventSource, state: EventSourceState): EventSourceDecision => {
  const { type: _, now: occurredAt, definition, ...identity } = command;
  if (state.status === 'NONE') {
    return accept({ type: 'EventSourceCreated', data: { ...identity, definition }, occurredAt });
  }
  if (state.status === 'ARCHIVED') {
    return accept({ type: 'EventSourceRestored', data: { definition }, occurredAt });
  }
  if (equalJson(redefined(state, definition), state)) return accept();
  return accept({ type: 'EventSourceUpdated', data: { definition }, occurredAt });
};

const archive = (occurredAt: string, state: EventSourceState): EventSourceDecision => {
  if (state.status === 'NONE') return refuse({ reason: 'not-found' });
  if (state.status === 'ARCHIVED') return accept();
  return accept({ type: 'EventSourceArchived', data: {}, occurredAt });
};

const decide = (command: EventSourceCommand, state: EventSourceState): EventSourceDecision => {
  switch (command.type) {
    case 'SyncEventSource':
      return sync(command, state);
    case 'ArchiveEventSource':
      return archive(command.now, state);
    default:
      return command satisfies never;
  }
};

export const eventSourceFold = {
  category: EVENT_SOURCE,
  stream: eventSourceStream,
  events: eventSourceEvents,
  initialState,
  evolve,
};
export const eventSourceAggregate = { ...eventSourceFold, decide };
