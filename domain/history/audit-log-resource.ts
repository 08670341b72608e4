import { z } from 'zod';
import { allEvents } from '../all-events.ts';
import { Change } from './change-resource.ts';
import { actorOrigins, type ActorOrigin as OriginOfActor } from './actor.ts';
import { Timestamp } from '../values.ts';

const streamTypes = allEvents.flatMap(({ audited }) => (audited === undefined ? [] : [audited.resourceType]));
/** These are parts of their account's stream. */
const types = new Set([...streamTypes, 'API_KEY', 'BROWSER_ORIGIN', 'INVITATION', 'USER'] as const);

export const AuditedResource = z.enum([...types].sort());
export type AuditedResource = z.infer<typeof AuditedResource>;

export const ActorOrigin = z.enum(Object.keys(actorOrigins) as [OriginOfActor, ...OriginOfActor[]]);
export type ActorOrigin = OriginOfActor;

export const AuditOutcome = z.enum(['success', 'denied', 'failed']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

export const who = {
  actorOrigin: ActorOrigin.meta({
    description:
      'SESSION: a signed-in user. USER: a user without a session yet, e.g. at the sign-in. WORKER: the service itself, after a request or at a set time.',
  }),
  actor: z.string().meta({
    description: 'E.g. `api-key:<id of the key>`, `session:<id>`, `user:<id>`, `worker:<name>`, `operator`.',
  }),
  userId: z.string().optional().meta({ description: 'The user who acted, or who owns the credential.' }),
};

export const AuditLog = z
  .strictObject({
    id: z.string(),
    timestamp: Timestamp,
    createdAt: Timestamp,
    action: z.string().meta({
      description:
        'The type of the event, e.g. `AdvertiserUpdated`, or the refused operation, e.g. `updateAdvertiser`.',
    }),
    resourceType: AuditedResource.optional().meta({
      description: 'Absent if the entry has no single resource.',
    }),
    resourceId: z.string().optional(),
    resourceName: z.string().optional().meta({ description: 'The name at that time.' }),
    advertiserId: z.int().optional(),
    campaignIds: z.array(z.string()).optional().meta({
      description: 'The campaigns that the resource is, or belonged to, at that time. Absent: none.',
    }),
    ...who,
    userEmail: z
      .string()
      .optional()
      .meta({ description: 'The present address of the user; absent if the user has none or was removed.' }),
    outcome: AuditOutcome,
    parameters: z.record(z.string(), z.unknown()).meta({
      description:
        'The ids of the request and the command, and the revision of the resource; or why the attempt was refused.',
    }),
    changes: z.array(Change),
    description: z.string(),
  })
  .meta({ id: 'AuditLog' });
export type AuditLog = z.infer<typeof AuditLog>;
