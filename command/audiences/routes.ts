import { z } from 'zod';
import { SyncAudiencesBody } from '../../domain/audiences/input.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import type { SyncWrites } from '../resource-syncs/commands.ts';
import { syncAudiences } from './commands.ts';

/** 100,000 members with two hashes and an id; fewer with long uids. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;

const SyncAudiencesResult = z
  .strictObject({ success: z.boolean(), accountId: z.string(), operationId: z.uuid(), taskId: z.uuid() })
  .meta({ id: 'SyncAudiencesResult' });

export const audienceWriteRoutes = (writes: SyncWrites): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{id}/audiences/sync',
    operationId: 'syncAudiences',
    description:
      'Members are hashed identifiers (SHA-256, 64 hex digits): e-mail addresses and numbers are ' +
      'refused as they are. Values that are left out stay. The task says when all is done.',
    summary:
      'Create and change audiences, add and remove up to 100,000 members; the task reports results and failures',
    tag: 'Audiences',
    access: 'exchange:write',
    params: z.object({ id: pathIntegerId('advertiser') }),
    body: SyncAudiencesBody,
    // A plain hash of the body would allow guessing members by trial, even after they were forgotten.
    bodyIsSecret: true,
    itemsMember: 'audiences',
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 202: { description: 'Accepted; the task reports completion', data: SyncAudiencesResult } },
    handle: async ({ params: { id }, body, request }) => {
      const taskId = await syncAudiences(writes, id, body, request);
      return {
        status: 202,
        data: { success: true, accountId: String(id), operationId: request.commandId, taskId },
      };
    },
  }),
];
