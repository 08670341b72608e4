import { z } from 'zod';
import { ToggleSyndicationBody } from '../../domain/syndication/input.ts';
import { syndicationResource, SyndicationResource } from '../../domain/syndication/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { digitStringId } from '../../shared/http/schemas.ts';
import { toggleSyndication, type SyndicationWrites } from './commands.ts';

export const syndicationWriteRoutes = (writes: SyndicationWrites): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{advertiserId}/syndicate',
    operationId: 'syndicate',
    description:
      'Answers with one record for each agent, in the state `PENDING`. Workers then call the ' +
      'agents, and try again for hours after failures; `errorMessage` of the record says why the ' +
      'last try failed.',
    summary: 'Switch the syndication of a resource to AdCP agents on or off; workers carry it out later',
    tag: 'Syndication',
    access: 'exchange:write',
    params: z.object({ advertiserId: digitStringId('advertiser') }),
    body: ToggleSyndicationBody,
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
