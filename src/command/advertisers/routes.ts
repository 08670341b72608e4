import { z } from 'zod';
import { advertiserEvents } from '../../domain/advertisers/advertiser-events.ts';
import { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import {
  advertiserDecider,
  advertiserStream,
  type Advertiser,
  type AdvertiserCommand,
} from '../../domain/advertisers/advertiser.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { executeCommand, loadState } from '../../shared/command/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
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
  readonly clock: Clock;
  /** The next unused advertiser id, from one sequence across accounts (decisions.md E2). */
  readonly nextAdvertiserId: () => Promise<number>;
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

const createRoute = ({ store, clock, nextAdvertiserId }: AdvertiserWrites): Route =>
  route({
    method: 'post',
    path,
    operationId: 'createAdvertiser',
    summary: 'Create an advertiser. Confirm the currency with the user before calling.',
    tag,
    access: 'account',
    body: CreateAdvertiserBody,
    reserves: { advertiserId: nextAdvertiserId },
    responses: { 201: { description: 'The new advertiser', ...advertiser } },
    handle: async ({ body, request }) => {
      const { customerId } = request.principal;
      const advertiserId = request.reserved['advertiserId'] ?? 0;
      const command = createAdvertiser(body, { advertiserId, customerId }, origin(request, clock));
      const data = await run(store, advertiserId, command, request, true);
      return { status: 201, data };
    },
  });

const updateRoute = ({ store, clock }: AdvertiserWrites): Route =>
  route({
    method: 'put',
    path: `${path}/{id}`,
    operationId: 'updateAdvertiser',
    summary: 'Change members of an advertiser; those left out stay as they are',
    tag,
    access: 'account',
    params,
    body: UpdateAdvertiserBody,
    responses: { 200: { description: 'The advertiser after the change', ...advertiser } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 200,
      data: await run(store, id, updateAdvertiser(body, origin(request, clock)), request),
    }),
  });

const archiveRoute = ({ store, clock }: AdvertiserWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdvertiser',
    summary: 'Archive an advertiser. Its data is kept and it can be restored; repeating changes nothing.',
    tag,
    access: 'account',
    params,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ params: { id }, request }) => {
      await run(store, id, archiveAdvertiser(origin(request, clock)), request);
      return { status: 204 };
    },
  });

const restoreRoute = ({ store, clock }: AdvertiserWrites): Route =>
  route({
    method: 'post',
    path: `${path}/{id}/restore`,
    operationId: 'restoreAdvertiser',
    summary: 'Restore an archived advertiser',
    tag,
    access: 'account',
    params,
    responses: { 200: { description: 'The advertiser, active again', ...advertiser } },
    handle: async ({ params: { id }, request }) => ({
      status: 200,
      data: await run(store, id, restoreAdvertiser(origin(request, clock)), request),
    }),
  });

const origin = ({ commandId }: RequestContext, clock: Clock) => ({
  commandId,
  now: isoTimestamp(clock.now()),
});

const run = async (
  store: EventStore,
  advertiserId: number,
  command: AdvertiserCommand,
  { commandId, requestId, isAbandoned, principal: { customerId, actor } }: RequestContext,
  isNew = false,
): Promise<Advertiser> => {
  const outcome = await executeCommand(store, aggregate, {
    stream: advertiserStream(customerId, advertiserId),
    command,
    context: { commandId, customerId, actor, requestId },
    isNew,
    isAbandoned,
  });
  if (outcome.outcome === 'refused') throw advertiserRefused(outcome.refusal);
  return outcome.state;
};

/** The advertiser as its stream says now; undefined when there is none. */
export const loadAdvertiser = async (
  store: EventStore,
  customerId: number,
  advertiserId: number,
): Promise<AdvertiserResource | undefined> => {
  const state = await loadState(store, advertiserDecider, advertiserStream(customerId, advertiserId));
  return state.status === 'NONE' ? undefined : state;
};
