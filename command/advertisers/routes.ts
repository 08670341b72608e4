import { z } from 'zod';
import { AdvertiserResource, type LinkedBrand } from '../../domain/advertisers/advertiser-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ofRequest, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { NotDoneError } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import type { IdSequence } from '../../shared/postgres/sequence.ts';
import { brandDomainIn, createAdvertiser, updateAdvertiser } from './advertiser-commands.ts';
import { CreateAdvertiserBody, UpdateAdvertiserBody } from './advertiser-input.ts';
import { executeOnAdvertiser, loadAdvertiser, runOnAdvertiser } from './load-advertiser.ts';
import { bareBrand, type FindBrand } from './find-brand.ts';

export interface AdvertiserWrites {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  /** One sequence across accounts (decisions.md E2). */
  readonly ids: IdSequence;
  /** The highest id among an account's advertisers, as far as the read model knows. */
  readonly highestId: (customerId: number) => Promise<number>;
  /** Absent: nothing is asked of brands, only their domain is known. */
  readonly findBrand?: FindBrand | undefined;
}

const path = '/api/v2/buyer/advertisers';
const tag = 'Advertisers';
const params = z.object({ id: pathIntegerId('advertiser') });
const advertiser = { data: AdvertiserResource };

/** Endpoints 2 and 3 of the specification; archive and restore of decisions.md sections 2 and 3. */
export const advertiserWriteRoutes = (writes: AdvertiserWrites): readonly Route[] => [
  createRoute(writes),
  updateRoute(writes),
  archiveRoute(writes),
  restoreRoute(writes),
];

const createRoute = ({ clock, ids, highestId, findBrand, ...stores }: AdvertiserWrites): Route =>
  route({
    method: 'post',
    path,
    operationId: 'createAdvertiser',
    summary: 'Create an advertiser. Confirm the currency with the user before calling.',
    tag,
    access: 'exchange:write',
    body: CreateAdvertiserBody,
    reserves: { advertiserId: ids.next },
    responses: { 201: { description: 'The new advertiser', ...advertiser } },
    handle: async ({ body, request }) => {
      const { customerId } = request.principal;
      const advertiserId = request.reserved['advertiserId'] ?? 0;
      const domain = brandDomainIn(body);
      const linkedBrand = domain === undefined ? undefined : await brandOf(findBrand, domain);
      const from = { ...origin(request, clock), linkedBrand };
      const command = createAdvertiser(body, { advertiserId, customerId }, from);
      const options = { ...ofRequest(request), isNew: true };
      const outcome = await executeOnAdvertiser(stores, advertiserId, command, options);
      if (outcome.outcome === 'done') return { status: 201, data: outcome.state };
      // The id was handed out before, to another command: the database was restored to an earlier time than the
      // log. The next attempt reserves another one.
      await ids.skipBeyond(Math.max(advertiserId, await highestId(customerId)));
      throw new NotDoneError('The advertiser was not created. Repeat the request after Retry-After.');
    },
  });

const updateRoute = ({ clock, findBrand, ...stores }: AdvertiserWrites): Route =>
  route({
    method: 'put',
    path: `${path}/{id}`,
    operationId: 'updateAdvertiser',
    summary: 'Change members of an advertiser; those left out stay as they are',
    tag,
    access: 'exchange:write',
    params,
    body: UpdateAdvertiserBody,
    responses: { 200: { description: 'The advertiser after the change', ...advertiser } },
    handle: async ({ params: { id }, body, request }) => {
      const linkedBrand = await newBrandOf(stores, findBrand, id, body, request);
      const command = updateAdvertiser(body, { ...origin(request, clock), linkedBrand });
      return { status: 200, data: await runOnAdvertiser(stores, id, command, request) };
    },
  });

const brandOf = async (findBrand: FindBrand | undefined, domain: string): Promise<LinkedBrand> =>
  findBrand?.(domain) ?? bareBrand(domain);

/** The brand that an update names. Only of one that the advertiser has not yet is anything asked. */
const newBrandOf = async (
  stores: CommandStores,
  findBrand: FindBrand | undefined,
  advertiserId: number,
  body: UpdateAdvertiserBody,
  { principal: { customerId } }: RequestContext,
): Promise<LinkedBrand | undefined> => {
  const domain = brandDomainIn(body);
  if (domain === undefined) return undefined;
  if (findBrand === undefined) return bareBrand(domain);
  const current = await loadAdvertiser(stores, customerId, advertiserId);
  const isNew = current?.status === 'ACTIVE' && current.brandDomain !== domain;
  return isNew ? findBrand(domain) : bareBrand(domain);
};

const archiveRoute = ({ clock, ...stores }: AdvertiserWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdvertiser',
    summary: 'Archive an advertiser. Its data is kept and it can be restored; repeating changes nothing.',
    tag,
    access: 'exchange:write',
    params,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ params: { id }, request }) => {
      await runOnAdvertiser(
        stores,
        id,
        { type: 'ArchiveAdvertiser', now: isoTimestamp(clock.now()) },
        request,
      );
      return { status: 204 };
    },
  });

const restoreRoute = ({ clock, ...stores }: AdvertiserWrites): Route =>
  route({
    method: 'post',
    path: `${path}/{id}/restore`,
    operationId: 'restoreAdvertiser',
    summary: 'Restore an archived advertiser',
    tag,
    access: 'exchange:write',
    params,
    responses: { 200: { description: 'The advertiser, active again', ...advertiser } },
    handle: async ({ params: { id }, request }) => ({
      status: 200,
      data: await runOnAdvertiser(
        stores,
        id,
        { type: 'RestoreAdvertiser', now: isoTimestamp(clock.now()) },
        request,
      ),
    }),
  });

const origin = ({ commandId }: RequestContext, clock: Clock) => ({
  commandId,
  now: isoTimestamp(clock.now()),
});
