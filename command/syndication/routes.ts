import { z } from 'zod';
import {
  ResourceType,
  syndicationResource,
  SyndicationResource,
} from '../../domain/syndication/syndication-resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { digitStringId } from '../../shared/http/schemas.ts';
import { toggleSyndication, type SyndicationWrites } from './toggle-syndication.ts';

const ToggleBody = z
  .object({
    resourceType: ResourceType.optional().meta({ description: 'Default: found by the resourceId.' }),
    resourceId: boundedText(1, 256),
    adcpAgentIds: z
      .array(boundedText(1, 100))
      .min(1)
      .max(100)
      .refine((ids) => new Set(ids).size === ids.length, 'must name each agent once'),
    enabled: z.boolean(),
  })
  .meta({ id: 'ToggleSyndication' });

export const syndicationWriteRoutes = (writes: SyndicationWrites): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{advertiserId}/syndicate',
    operationId: 'syndicate',
    summary: 'Switch the syndication of a resource to AdCP agents on or off; workers carry it out later',
    tag: 'Syndication',
    access: 'exchange:write',
    params: z.object({ advertiserId: digitStringId('advertiser') }),
    body: ToggleBody,
    responses: {
      201: {
        description: 'The record of each agent, in the order of adcpAgentIds',
        data: z.array(SyndicationResource),
      },
    },
    handle: async ({ params: { advertiserId }, body, request }) => {
      const { adcpAgentIds: agentIds, ...toggle } = body;
      const records = await toggleSyndication(writes, { ...toggle, advertiserId, agentIds }, request);
      return { status: 201, data: records.map(syndicationResource) };
    },
  }),
];
