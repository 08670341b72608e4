import { z } from 'zod';
import { brandDomainIn, CreateAdvertiserBody, UpdateAdvertiserBody } from '../../domain/advertisers/input.ts';
import { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { LinkedBrand } from '../../domain/brands/brand.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ofRequest, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { NotDoneError } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import type { IdSequence } from '../../shared/postgres/sequence.ts';
import { bareBrand, type FindBrand } from '../brands/find-brand.ts';
import { createAdvertiser, updateAdvertiser } from './commands.ts';
import { executeOnAdvertiser, loadAdvertiser, runOnAdvertiser } from './handler.ts';

export interface AdvertiserWrites extends CommandStores {
  readonly clock: Clock;
  readonly ids: IdSequence;
  readonly findBrand: FindBrand;
}

const path = '/api/v2/buyer/advertisers';
const params = z.object({ id: pathIntegerId('advertiser') });
const write = { tag: 'Advertisers', access: 'exchange:write' } as const;

/** Endpoints 2 and 3 of the specification. */
export const advertiserWriteRoutes = (writes: AdvertiserWrites): readonly Route[] => [
  createRoute(writes),
  updateRoute(writes),
  archiveRoute(writes),
  restoreRoute(writes),
];

const createRoute = ({ clock, ids, findBrand, ...stores }: AdvertiserWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createAdvertiser',
    description:
      'Only `name` is required. `sandbox` can never be changed; below a sandbox advertiser the ' +
      'account itself may record reviews of creatives. `primaryCurrency` is `USD` by default, and ' +
      'locked by the first campaign.',
    summary: 'Create an advertiser. Confirm the currency with the user before calling.',
    body: CreateAdvertiserBody,
    reserves: { advertiserId: ids.next },
    responses: { 201: { description: 'The new advertiser', data: AdvertiserResource } },
    handle: async ({ body, request }) => {
      const { commandId, principal, reserved } = request;
      const advertiserId = reserved['advertiserId'] ?? 0;
      const domain = brandDomainIn(body);
      const linkedBrand = domain === undefined ? undefined : await findBrand(domain);
      const command = createAdvertiser(
        body,
        { advertiserId, customerId: principal.customerId },
        { commandId, now: isoTimestamp(clock.now()), linkedBrand },
      );
      const options = { ...ofRequest(request), isNew: true };
      const outcome = await executeOnAdvertiser(stores, advertiserId, command, options);
      if (outcome.outcome === 'done') return { status: 201, data: outcome.state };
      // In use already: the database was restored to before the log. The next attempt reserves another id.
      await ids.skipBeyond(advertiserId);
      throw new NotDoneError('The advertiser was not created. Repeat the request after Retry-After.');
    },
  });

const updateRoute = ({ clock, findBrand, ...stores }: AdvertiserWrites): Route =>
  route({
    ...write,
    method: 'put',
    path: `${path}/{id}`,
    operationId: 'updateAdvertiser',
    description:
      'Members that are left out stay, `null` clears one. `autonomy` is merged; `controls`, ' +
      '`labels`, `utmConfig` and `frequencyCaps` are replaced as a whole. A change of a locked ' +
      'currency, or of an archived advertiser, is 409.',
    summary: 'Change members of an advertiser; absent members stay unchanged',
    params,
    body: UpdateAdvertiserBody,
    responses: { 200: { description: 'The advertiser after the change', data: AdvertiserResource } },
    handle: async ({ params: { id }, body, request }) => {
      const { commandId, principal } = request;
      const linkedBrand = await brandOfUpdate(
        stores,
        findBrand,
        principal.customerId,
        id,
        brandDomainIn(body),
      );
      const command = updateAdvertiser(body, { commandId, now: isoTimestamp(clock.now()), linkedBrand });
      return { status: 200, data: await runOnAdvertiser(stores, id, command, request) };
    },
  });

/** A brand is looked up only if the advertiser is not linked to its domain yet. */
const brandOfUpdate = async (
  stores: CommandStores,
  findBrand: FindBrand,
  customerId: number,
  advertiserId: number,
  domain: string | undefined,
): Promise<LinkedBrand | undefined> => {
  if (domain === undefined) return undefined;
  const current = await loadAdvertiser(stores, customerId, advertiserId);
  const isNew = current?.status === 'ACTIVE' && current.brandDomain !== domain;
  return isNew ? findBrand(domain) : bareBrand(domain);
};

const archiveRoute = ({ clock, ...stores }: AdvertiserWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdvertiser',
    description:
      'Archives: everything below the advertiser stays readable, every write below it is 409, and ' +
      'its syndication is switched off. Repeating changes nothing.',
    summary: 'Archive an advertiser. Its data is kept and it can be restored; repeating changes nothing.',
    params,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ params: { id }, request }) => {
      const now = isoTimestamp(clock.now());
      await runOnAdvertiser(stores, id, { type: 'ArchiveAdvertiser', now }, request);
      return { status: 204 };
    },
  });

const restoreRoute = ({ clock, ...stores }: AdvertiserWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/{id}/restore`,
    operationId: 'restoreAdvertiser',
    description:
      '404 if the advertiser is not archived. Its syndication stays off: switch it on again with ' +
      '`/syndicate`.',
    summary: 'Restore an archived advertiser',
    params,
    responses: { 200: { description: 'The advertiser, active again', data: AdvertiserResource } },
    handle: async ({ params: { id }, request }) => {
      const now = isoTimestamp(clock.now());
      const command = { type: 'RestoreAdvertiser', now } as const;
      return { status: 200, data: await runOnAdvertiser(stores, id, command, request) };
    },
  });
