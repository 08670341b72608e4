import { z } from 'zod';
import { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import {
  boundedText,
  pageOf,
  pagingParameters,
  pathIntegerId,
  queryBoolean,
} from '../../shared/http/schemas.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { readUntilFresh, ReadModelBehindError } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { behind } from '../resources/behind.ts';
import { getAdvertisers } from './get-advertisers.ts';
import { listAdvertisers } from './list-advertisers.ts';

export interface AdvertiserReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  /** The name of an advertiser's stream. */
  readonly streamOf: (customerId: number, advertiserId: number) => string;
  /**
   * The advertiser as its stream says, for the moment when the read model is too far behind the account's
   * last write, or leaves the stream out; undefined when there is none.
   */
  readonly foldAdvertiser: (
    customerId: number,
    advertiserId: number,
  ) => Promise<AdvertiserResource | undefined>;
}

const path = '/api/v2/buyer/advertisers';
const tag = 'Advertisers';
const projection = 'advertisers';
const params = z.object({ id: pathIntegerId('advertiser') });

/** Endpoint 4 of the specification; the detail of decisions.md section 2. */
export const advertiserReadRoutes = (reads: AdvertiserReads): readonly Route[] => [
  listRoute(reads),
  detailRoute(reads),
];

export const advertiserList = declaration({
  method: 'get',
  path,
  operationId: 'listAdvertisers',
  summary: 'List advertisers, newest first',
  tag,
  access: 'exchange:read',
  query: z.object({
    status: z.enum(['ACTIVE', 'ARCHIVED', 'ALL']).optional().meta({ description: 'Default ACTIVE.' }),
    name: boundedText(1, 200).optional().meta({ description: 'Part of the name; case does not count.' }),
    sandbox: queryBoolean('Only sandbox advertisers, or only others.').optional(),
    ...pagingParameters(200),
  }),
});

const listRoute = (reads: AdvertiserReads): Route =>
  route({
    ...advertiserList,
    responses: { 200: { description: 'One page', data: z.array(AdvertiserResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { status = 'ACTIVE', name, sandbox } = query;
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const filters = { status, name, sandbox };
      const page = { skip, take };
      const { items, total } = await listAdvertisers(reads, customerId, filters, page).catch(behind);
      return { status: 200, dataJson: items, pagination: { ...page, total, hasMore: skip + take < total } };
    },
  });

export const advertiserRead = declaration({
  method: 'get',
  path: `${path}/{id}`,
  operationId: 'getAdvertiser',
  summary: 'One advertiser, archived ones too',
  tag,
  access: 'exchange:read',
  params,
});

const detailRoute = ({ database, progress, streamOf, foldAdvertiser }: AdvertiserReads): Route => {
  const getAdvertiser = getAdvertisers(database, projection);
  return route({
    ...advertiserRead,
    responses: { 200: { description: 'The advertiser', data: AdvertiserResource } },
    handle: async ({ params: { id }, request }) => {
      const { customerId } = request.principal;
      try {
        const asked = { customerId, id, stream: streamOf(customerId, id) };
        const row = await readUntilFresh({ projection, progress }, () => getAdvertiser(asked));
        if (!row.parked) {
          if (row.body === null) throw notFound('advertiser');
          return { status: 200, dataJson: row.body };
        }
      } catch (error) {
        if (!(error instanceof ReadModelBehindError)) throw error;
      }
      const folded = await foldAdvertiser(customerId, id);
      if (folded === undefined) throw notFound('advertiser');
      return { status: 200, data: folded };
    },
  });
};
