import { z } from 'zod';
import {
  audienceResource,
  AudienceResource,
  type Audience,
} from '../../domain/audiences/audience-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { listResources } from '../resources/list-resources.ts';
import type { ResourceReads, ResourceTable } from '../resources/resource-reads.ts';

export const audiencesTable: ResourceTable = {
  readModel: 'audiences',
  table: 'audiences',
  body: `jsonb_build_object('members', r.members, 'audience', r.body::jsonb)::text`,
};

interface AudienceRow {
  readonly members: number;
  readonly audience: Audience;
}

const AudienceList = z
  .strictObject({ audiences: z.array(AudienceResource), total: z.int(), take: z.int(), skip: z.int() })
  .meta({ id: 'AudienceList' });

export const audienceList = declaration({
  method: 'get',
  path: '/api/v2/buyer/advertisers/{id}/audiences',
  operationId: 'listAudiences',
  summary: "An advertiser's audiences, newest first",
  tag: 'Audiences',
  access: 'exchange:read',
  params: z.object({ id: pathIntegerId('advertiser') }),
  query: z.object(pagingParameters(200)),
});

export const audienceReadRoutes = (reads: ResourceReads): readonly Route[] => [
  route({
    ...audienceList,
    responses: { 200: { description: 'One page, and how many there are', data: AudienceList } },
    handle: async ({ params: { id }, query, request }) => {
      const owner = { customerId: request.principal.customerId, advertiserId: id };
      const { take, skip } = pageOf(query);
      const page = await listResources<AudienceRow>(reads, audiencesTable, owner, { take, skip }).catch(
        refuseIfBehind,
      );
      if (page === undefined) throw notFound('advertiser');
      const audiences = page.items.map(({ audience, members }) => audienceResource(audience, members));
      return { status: 200, data: { audiences, total: page.total, take, skip } };
    },
  }),
];
