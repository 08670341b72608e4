import { z } from 'zod';
import { advertiserEvents } from '../../domain/advertisers/advertiser-events.ts';
import { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import {
  advertiserDecider,
  advertiserStream,
  type Advertiser,
  type AdvertiserCommand,
  type AdvertiserRefusal,
} from '../../domain/advertisers/advertiser.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { executeCommand, loadState, type Outcome } from '../../shared/command/execute-command.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { NotDoneError } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { derivedId } from '../../shared/ids.ts';
import type { IdSequence } from '../../shared/postgres/sequence.ts';
import {
  archiveAdvertiser,
  createAdvertiser,
  restoreAdvertiser,
  updateAdvertiser,
} from './advertiser-commands.ts';
import { CreateAdvertiserBody, UpdateAdvertiserBody } from './advertiser-input.ts';
import { advertiserRefused } from './advertiser-refusals.ts';

export interface AdvertiserWrites {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  /** One sequence across accounts (decisions.md E2). */
  readonly ids: IdSequence;
  /** The highest id among an account's advertisers, as far as the read model knows. */
  readonly highestId: (customerId: number) => Promise<number>;
}

const path = '/api/v2/buyer/advertisers';
const tag = 'Advertisers';
const aggregate = { decider: advertiserDecider, events: advertiserEvents };
const params = z.object({ id: pathIntegerId('advertiser') });
const advertiser = { data: AdvertiserResource };

/** Endpoints 2 and 3 of the specification; archive and restore of decisions.md sections 2 and 3. */
export const advertiserWriteRoutes = (writes: AdvertiserWrites): readonly Route[] => [
  createRoute(writes),
  updateRoute(writes),
  archiveRoute(writes),
  restoreRoute(writes),
];

const createRoute = ({ clock, ids, highestId, ...stores }: AdvertiserWrites): Route =>
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
      const command = createAdvertiser(body, { advertiserId, customerId }, origin(request, clock));
      const outcome = await execute(stores, advertiserId, command, request, true);
      if (outcome.outcome === 'done') return { status: 201, data: outcome.state };
      // The id was handed out before, to another command: the database was restored to an earlier time than the
      // log. The next attempt reserves another one.
      await ids.skipBeyond(Math.max(advertiserId, await highestId(customerId)));
      throw new NotDoneError('The advertiser was not created. Repeat the request after Retry-After.');
    },
  });

const updateRoute = ({ clock, ...stores }: AdvertiserWrites): Route =>
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
    handle: async ({ params: { id }, body, request }) => ({
      status: 200,
      data: await run(stores, id, updateAdvertiser(body, origin(request, clock)), request),
    }),
  });

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
      await run(stores, id, archiveAdvertiser(origin(request, clock)), request);
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
      data: await run(stores, id, restoreAdvertiser(origin(request, clock)), request),
    }),
  });

const origin = ({ commandId }: RequestContext, clock: Clock) => ({
  commandId,
  now: isoTimestamp(clock.now()),
});

type Stores = Pick<AdvertiserWrites, 'store' | 'snapshots'>;

const execute = (
  { store, snapshots }: Stores,
  advertiserId: number,
  command: AdvertiserCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
  isNew: boolean,
): Promise<Outcome<Advertiser, AdvertiserRefusal>> =>
  executeCommand(store, aggregate, {
    stream: advertiserStream(customerId, advertiserId),
    command,
    context: { commandId, customerId, actor, requestId },
    isNew,
    isAbandoned,
    snapshots,
    hasRunBefore,
  });

const run = async (
  stores: Stores,
  advertiserId: number,
  command: AdvertiserCommand,
  request: RequestContext,
): Promise<Advertiser> => {
  const outcome = await execute(stores, advertiserId, command, request, false);
  if (outcome.outcome === 'refused') throw advertiserRefused(outcome.refusal);
  return outcome.state;
};

/**
 * Locks the currency, for something that a request is about to create below the advertiser.
 * @param currency what it must be, as far as the request minds
 * @returns the currency, from now on for good
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR (another currency)
 */
export const lockCurrency = async (
  stores: Stores,
  advertiserId: number,
  currency: string | undefined,
  now: string,
  request: RequestContext,
): Promise<string> => {
  const command: AdvertiserCommand = { type: 'LockAdvertiserCurrency', now, currency };
  const own = { ...request, commandId: derivedId(request.commandId, 'lock-currency') };
  const locked = await run(stores, advertiserId, command, own);
  if (locked.status === 'NONE') throw advertiserRefused({ reason: 'not-found' });
  return locked.primaryCurrency;
};

/** The advertiser as its stream says now; undefined when there is none. */
export const loadAdvertiser = async (
  { store, snapshots }: Stores,
  customerId: number,
  advertiserId: number,
): Promise<AdvertiserResource | undefined> => {
  const state = await loadState(store, aggregate, advertiserStream(customerId, advertiserId), snapshots);
  return state.status === 'NONE' ? undefined : state;
};
