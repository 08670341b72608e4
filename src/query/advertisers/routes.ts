import { z } from 'zod';
import { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import { notFound, unavailable } from '../../shared/http/errors.ts';
import { declaration, route, type Reply, type Route } from '../../shared/http/route.ts';
import {
  boundedText,
  pageOf,
  pagingParameters,
  pathIntegerId,
  queryBoolean,
} from '../../shared/http/schemas.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { keptMark } from '../../shared/read-your-writes/account-mark.ts';
import type { AnswerCache, MarkedAnswer } from '../../shared/read-your-writes/answer-cache.ts';
import {
  consistentRead,
  readUntilFresh,
  ReadModelBehindError,
} from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { getAdvertisers } from './get-advertisers.ts';
import { listAdvertisersQuery, type ListFilters, type ListPage, type ListRow } from './list-advertisers.ts';

export interface AdvertiserReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  readonly answers: AnswerCache;
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

const listRoute = ({ database, progress, answers }: AdvertiserReads): Route =>
  route({
    ...advertiserList,
    responses: { 200: { description: 'One page', data: z.array(AdvertiserResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { status = 'ACTIVE', name, sandbox } = query;
      const { skip, take } = pageOf(query);
      const { customerId, mark } = request.principal;
      const key = JSON.stringify([
        customerId,
        'advertisers',
        status,
        sandbox ?? null,
        name ?? null,
        skip,
        take,
      ]);
      const filters = { status, name, sandbox };
      return answers.answer(key, mark, () =>
        readList({ database, progress }, customerId, filters, { skip, take }),
      );
    },
  });

const readList = async (
  { database, progress }: Pick<AdvertiserReads, 'database' | 'progress'>,
  customerId: number,
  filters: ListFilters,
  { skip, take }: ListPage,
): Promise<MarkedAnswer<Reply>> => {
  const query = listAdvertisersQuery(customerId, filters, { skip, take });
  const pool = boundTo(database, customerId);
  const row = await consistentRead<ListRow>({ pool, projection, query, progress }).catch(behind);
  const pagination = { skip, take, total: row.total, hasMore: skip + row.returned < row.total };
  const dataJson = `[${row.items}]`;
  return { mark: keptMark(row), value: { status: 200, dataJson, pagination }, bytes: 2 * dataJson.length };
};

export const advertiserRead = declaration({
  method: 'get',
  path: `${path}/{id}`,
  operationId: 'getAdvertiser',
  summary: 'One advertiser, archived ones too',
  tag,
  access: 'exchange:read',
  params,
});

const detailRoute = ({ database, progress, answers, streamOf, foldAdvertiser }: AdvertiserReads): Route => {
  const getAdvertiser = getAdvertisers(database, projection);
  return route({
    ...advertiserRead,
    responses: { 200: { description: 'The advertiser', data: AdvertiserResource } },
    handle: async ({ params: { id }, request }) => {
      const { customerId, mark } = request.principal;
      const body = await answers
        .answer(JSON.stringify([customerId, 'advertiser', id]), mark, async () => {
          const asked = { customerId, id, stream: streamOf(customerId, id) };
          const row = await readUntilFresh({ projection, progress }, () => getAdvertiser(asked));
          if (row.parked) throw new ReadModelBehindError(projection, 0);
          return { mark: keptMark(row), value: row.body, bytes: 2 * (row.body?.length ?? 0) };
        })
        .catch(async (error: unknown) => {
          if (!(error instanceof ReadModelBehindError)) throw error;
          const folded = await foldAdvertiser(customerId, id);
          return folded === undefined ? null : JSON.stringify(folded);
        });
      if (body === null) throw notFound('advertiser');
      return { status: 200, dataJson: body };
    },
  });
};

/** Never the old list: the caller has been told that its write is done. */
const behind = (error: unknown): never => {
  if (!(error instanceof ReadModelBehindError)) throw error;
  throw unavailable('The list does not show your last write yet. Repeat the request after Retry-After.');
};
