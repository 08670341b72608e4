import { z } from 'zod';
import {
  credentialOfActor,
  originOfActor,
  userOfActor,
  type ActorOrigin,
} from '../../domain/history/actor.ts';
import { who } from '../../domain/history/audit-log-resource.ts';
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

export const whoOf = (
  actor: string,
  userId: string | null | undefined,
): { readonly actorOrigin: ActorOrigin; readonly actor: string; readonly userId?: string } => ({
  actorOrigin: originOfActor(actor),
  actor,
  ...(typeof userId === 'string' ? { userId } : {}),
});

const userOf = (actor: string, users: KeyUsers): string | undefined =>
  userOfActor(actor) ?? users.get(credentialOfActor(actor) ?? '');

export const setByResource = (
  { id, revision, type, metadata }: EventFacts,
  users: KeyUsers,
): z.infer<typeof SetBy> => ({
  id,
  revision: revision + 1,
  type,
  timestamp: metadata.occurredAt,
  ...whoOf(metadata.actor, userOf(metadata.actor, users)),
  requestId: metadata.requestId,
});

export const historyEvent = ({ event, changes }: RecordedChange, users: KeyUsers): HistoryEvent => ({
  ...setByResource(event, users),
  correlationId: event.metadata.correlationId,
  causationId: event.metadata.causationId,
  changes: [...changes],
});
