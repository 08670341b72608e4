import { z } from 'zod';
import { Change } from './change-resource.ts';

/** Kinds of things that the audit log has entries of. */
export const AuditedResource = z.enum([
  'ACCOUNT',
  'ADCP_AGENT',
  'ADVERTISER',
  'API_KEY',
  'ASSET',
  'AUDIENCE',
  'CAMPAIGN',
  'CATALOG',
  'CONVERSIONS',
  'CREATIVE',
  'CREATIVE_SESSION',
  'ENGINE_CONNECTION',
  'EVENT_SOURCE',
  'SYNDICATION',
  'TASK',
  'USER',
]);
export type AuditedResource = z.infer<typeof AuditedResource>;

/** By whom something was done (the part of an actor before its `:`). */
export const ActorOrigin = z.enum(['API_KEY', 'UPLOAD', 'WORKER', 'OPERATOR']);
export type ActorOrigin = z.infer<typeof ActorOrigin>;

export const AuditOutcome = z.enum(['success', 'denied', 'failed']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

const Timestamp = z.iso.datetime({ precision: 3 });

/** Who did something, as answers show it. */
export const who = {
  actorOrigin: ActorOrigin.meta({
    description: 'WORKER: the service itself, later or because of the clock.',
  }),
  actor: z.string().meta({ description: 'E.g. `api-key:<id of the key>`, `worker:<name>`, `operator`.' }),
  userId: z.string().optional().meta({ description: 'The user whose API key it was.' }),
};

/** One entry of the audit log (decisions.md section 2): a change, or an attempt that was refused. */
export const AuditLog = z
  .strictObject({
    id: z.string(),
    timestamp: Timestamp,
    createdAt: Timestamp,
    action: z.string().meta({
      description:
        'The type of the event, e.g. `AdvertiserUpdated`; of what was refused the operation, e.g. `updateAdvertiser`.',
    }),
    resourceType: AuditedResource.optional().meta({ description: 'Absent: of no one thing.' }),
    resourceId: z.string().optional(),
    resourceName: z.string().optional().meta({ description: 'As it was called then.' }),
    advertiserId: z.int().optional(),
    ...who,
    userEmail: z.string().optional().meta({ description: 'Absent as long as users have no address.' }),
    outcome: AuditOutcome,
    parameters: z.record(z.string(), z.unknown()).meta({
      description: 'The request, the command, and the place in the history of the thing; why it was refused.',
    }),
    changes: z.array(Change),
    description: z.string(),
  })
  .meta({ id: 'AuditLog' });
export type AuditLog = z.infer<typeof AuditLog>;
