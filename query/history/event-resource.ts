import { z } from 'zod';
import { who, type ActorOrigin } from '../../domain/history/audit-log-resource.ts';
import { Change } from '../../domain/history/change-resource.ts';
import type { EventFacts, RecordedChange } from './stream-history.ts';
import { Timestamp } from '../../domain/values.ts';

const facts = {
  id: z.string().meta({ description: 'Id of the event.' }),
  revision: z
    .int()
    .min(1)
    .meta({ description: 'Number of the event in the history of the resource, from 1.' }),
  type: z.string().meta({ description: 'E.g. `AdvertiserUpdated`.' }),
  timestamp: Timestamp,
  ...who,
  requestId: z.string().meta({ description: '`X-Request-Id` of the request that caused it directly.' }),
};

export const HistoryEvent = z
  .strictObject({
    ...facts,
    correlationId: z.string().meta({ description: 'Id of the first request of the chain of causes.' }),
    causationId: z.string().meta({ description: 'Id of the command, shared by all its events.' }),
    changes: z.array(Change),
  })
  .meta({ id: 'HistoryEvent' });
export type HistoryEvent = z.infer<typeof HistoryEvent>;

export const SetBy = z.strictObject(facts).meta({ id: 'SetBy' });

export type KeyUsers = ReadonlyMap<string, string>;

const ORIGINS: Readonly<Record<string, ActorOrigin>> = {
  'api-key': 'API_KEY',
  upload: 'UPLOAD',
  worker: 'WORKER',
  operator: 'OPERATOR',
};

export const keyOfActor = (actor: string): string | undefined =>
  actor.startsWith('api-key:') ? actor.slice('api-key:'.length) : undefined;

export const whoOf = (
  actor: string,
  userId: string | null | undefined,
): { readonly actorOrigin: ActorOrigin; readonly actor: string; readonly userId?: string } => ({
  actorOrigin: ORIGINS[actor.split(':')[0] ?? ''] ?? 'OPERATOR',
  actor,
  ...(typeof userId === 'string' ? { userId } : {}),
});

export const setByResource = (
  { id, revision, type, metadata }: EventFacts,
  users: KeyUsers,
): z.infer<typeof SetBy> => ({
  id,
  revision: revision + 1,
  type,
  timestamp: metadata.occurredAt,
  ...whoOf(metadata.actor, users.get(keyOfActor(metadata.actor) ?? '')),
  requestId: metadata.requestId,
});

export const historyEvent = ({ event, changes }: RecordedChange, users: KeyUsers): HistoryEvent => ({
  ...setByResource(event, users),
  correlationId: event.metadata.correlationId,
  causationId: event.metadata.causationId,
  changes: [...changes],
});
