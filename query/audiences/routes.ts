import { z } from 'zod';
import { AudienceResource } from '../../domain/audiences/resource.ts';
import { declaration, type Route } from '../../shared/http/route.ts';
import { pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { listResourcesRoute } from '../resources/list-resources.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { listAudiences } from './list.ts';

export const audienceReadRoutes = (reads: ResourceReads): readonly Route[] => [
  listResourcesRoute(audienceList, AudienceList, (owner, page) => listAudiences(reads, owner, page)),
];

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
