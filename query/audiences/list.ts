import { audienceResource, type Audience, type AudienceResource } from '../../domain/audiences/resource.ts';
import type { Page } from '../resources/list-page.ts';
import { listResources, type ResourceOwner } from '../resources/list-resources.ts';
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

interface AudiencePage extends Page {
  readonly audiences: readonly AudienceResource[];
  readonly total: number;
}

/** Undefined if the advertiser does not exist. @throws ReadModelBehindError */
export const listAudiences = async (
  reads: ResourceReads,
  owner: ResourceOwner,
  page: Page,
): Promise<AudiencePage | undefined> => {
  const found = await listResources<AudienceRow>(reads, audiencesTable, owner, page);
  if (found === undefined) return undefined;
  const audiences = found.items.map(({ audience, members }) => audienceResource(audience, members));
  return { audiences, total: found.total, ...page };
};
