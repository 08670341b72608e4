import type { Logger } from 'pino';
import type { z } from 'zod';
import type { CreateWebhookBody, RotateSecretBody, UpdateWebhookBody } from '../../domain/webhooks/input.ts';
import {
  webhookFields,
  type DisabledReason,
  type WebhookSubscription,
} from '../../domain/webhooks/resource.ts';
import type { RequestDeliveries } from '../../domain/webhooks/webhook-subscription.ts';
import { initialMembers } from '../../domain/fields.ts';
import type { CommandStores } from '../../shared/aggregate/handler-for.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import {
  createWebhookSubscription,
  executeOnSubscription,
  loadSubscription,
  runOnSubscription,
  subscriptionDoneBefore,
} from './handler.ts';
import { holdSlot, releaseSlot } from './hold-slot.ts';
import { secretToShow, storeSecret } from './signing-secret.ts';

export interface WebhookWrites extends CommandStores {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly secrets: SecretStore;
  /** Names by id, of those that the account has. */
  readonly findAdvertiserNames: (
    customerId: number,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, string>>;
}

interface WithSecret {
  readonly subscription: WebhookSubscription;
  /** Only if the service made it. */
  readonly secret: string | undefined;
}

/** @throws ApiError NOT_FOUND (advertiser), CONFLICT at the limit of 50 */
export const createSubscription = async (
  writes: WebhookWrites,
  { secret: given, ...definition }: z.output<ReturnType<typeof CreateWebhookBody>>,
  request: RequestContext,
): Promise<WithSecret> => {
  const subscriptionId = derivedId(request.commandId, 'webhook-subscription');
  const done = await subscriptionDoneBefore(writes, subscriptionId, request);
  const subscription = done ?? (await create(writes, { subscriptionId, given, definition }, request));
  const { secretId } = subscription;
  return { subscription, secret: await secretToShow(writes.secrets, { secretId, given }, request) };
};

interface NewSubscription {
  readonly subscriptionId: string;
  readonly given: string | undefined;
  readonly definition: Omit<z.output<ReturnType<typeof CreateWebhookBody>>, 'secret'>;
}

const create = async (
  writes: WebhookWrites,
  { subscriptionId, given, definition }: NewSubscription,
  request: RequestContext,
): Promise<WebhookSubscription> => {
  const { customerId } = request.principal;
  await requireAdvertisers(writes, customerId, definition.advertiserIds);
  await holdSlot(writes, subscriptionId, request);
  const secretId = await storeSecret(writes.secrets, subscriptionId, given, request);
  const subscription = {
    ...initialMembers(webhookFields),
    ...omitUndefined(definition),
    subscriptionId,
    customerId,
    secretId,
  };
  const now = isoTimestamp(writes.clock.now());
  const command = { type: 'CreateSubscription', now, subscription } as const;
  return createWebhookSubscription(writes, subscriptionId, command, request);
};

/** @throws ApiError NOT_FOUND (subscription, advertiser), CONFLICT (it has failed) */
export const updateSubscription = async (
  writes: WebhookWrites,
  subscriptionId: string,
  { status, ...changes }: z.output<ReturnType<typeof UpdateWebhookBody>>,
  request: RequestContext,
): Promise<WebhookSubscription> => {
  await requireAdvertisers(writes, request.principal.customerId, changes.advertiserIds ?? undefined);
  const now = isoTimestamp(writes.clock.now());
  return runOnSubscription(
    writes,
    subscriptionId,
    { type: 'UpdateSubscription', now, changes, status },
    request,
  );
};

/** @throws ApiError NOT_FOUND, CONFLICT during the overlap of an earlier rotation, unless forced */
export const rotateSecret = async (
  writes: WebhookWrites,
  subscriptionId: string,
  { secret: given, overlapSeconds, force }: z.output<typeof RotateSecretBody>,
  request: RequestContext,
): Promise<WithSecret> => {
  const done = await subscriptionDoneBefore(writes, subscriptionId, request);
  const rotate = async (): Promise<WebhookSubscription> => {
    await loadSubscription(writes, request.principal.customerId, subscriptionId);
    const secretId = await storeSecret(writes.secrets, subscriptionId, given, request);
    const nowMs = writes.clock.now();
    const overlapUntil = isoTimestamp(nowMs + overlapSeconds * 1_000);
    const now = isoTimestamp(nowMs);
    const command = { type: 'RotateSecret', now, secretId, overlapUntil, force } as const;
    return runOnSubscription(writes, subscriptionId, command, request);
  };
  const subscription = done ?? (await rotate());
  const { secretId } = subscription;
  return { subscription, secret: await secretToShow(writes.secrets, { secretId, given }, request) };
};

/** @throws ApiError NOT_FOUND, CONFLICT while the subscription is not active */
export const requestDeliveries = (
  { clock, ...stores }: Pick<WebhookWrites, 'clock' | 'store' | 'snapshots'>,
  subscriptionId: string,
  wanted: RequestDeliveries['request'],
  request: RequestContext,
): Promise<WebhookSubscription> => {
  const now = isoTimestamp(clock.now());
  const command = { type: 'RequestDeliveries', now, request: wanted } as const;
  return runOnSubscription(stores, subscriptionId, command, request);
};

/** @throws ApiError NOT_FOUND */
export const deleteSubscription = async (
  writes: WebhookWrites,
  subscriptionId: string,
  request: RequestContext,
): Promise<void> => {
  const { clock, secrets, log } = writes;
  const { customerId } = request.principal;
  const now = isoTimestamp(clock.now());
  const command = { type: 'DeleteSubscription', now } as const;
  const deleted = await runOnSubscription(writes, subscriptionId, command, request);
  const old = [deleted.secretId, deleted.previousSecret?.secretId].filter((id) => id !== undefined);
  // After the event: in the other order a crash would leave a subscription without its secret.
  const ends = await Promise.allSettled([
    ...old.map((id) => secrets.remove(customerId, id)),
    releaseSlot(writes, subscriptionId, request),
  ]);
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) {
    const about = { err: failed.reason as unknown, customerId, subscriptionId };
    log.warn(about, 'a deleted webhook subscription left a secret or a slot, which is removed later');
  }
};

export interface EndpointVerdict {
  readonly customerId: number;
  readonly subscriptionId: string;
  readonly reason: DisabledReason;
  /** A sentence for the subscriber. It quotes nothing from the endpoint. */
  readonly message: string;
  /** ISO 8601: when the attempt began that led to this. A subscription that was changed since stays as it is. */
  readonly attemptAt: string;
}

/**
 * For the worker that delivers. Repeating it for the same attempt changes nothing.
 * @returns the subscription afterwards; undefined if it does not exist or was deleted
 */
export const disableSubscription = async (
  { clock, ...stores }: CommandStores & { readonly clock: Clock },
  { customerId, subscriptionId, reason, message, attemptAt }: EndpointVerdict,
): Promise<WebhookSubscription | undefined> => {
  const commandId = derivedId(subscriptionId, `disable:${attemptAt}`);
  const now = isoTimestamp(clock.now());
  const command = { type: 'DisableSubscription', now, reason, message, attemptAt } as const;
  const outcome = await executeOnSubscription(stores, subscriptionId, command, {
    context: { commandId, customerId, actor: 'worker:webhooks', requestId: commandId },
  });
  if (outcome.outcome === 'refused' || outcome.state.status === 'none') return undefined;
  return outcome.state;
};

/** @throws ApiError NOT_FOUND */
const requireAdvertisers = async (
  { findAdvertiserNames }: Pick<WebhookWrites, 'findAdvertiserNames'>,
  customerId: number,
  ids: readonly number[] = [],
): Promise<void> => {
  const known = await findAdvertiserNames(customerId, ids);
  if (ids.every((id) => known.has(id))) return;
  throw new ApiError({ ...notFound('advertiser').body, field: 'advertiserIds' });
};
