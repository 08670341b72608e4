import { randomUUID } from 'node:crypto';
import {
  creativeNamesAggregate,
  nameHeldBy,
  type CreativeNamesCommand,
  type CreativeNamesRefusal,
} from '../../domain/creatives/creative-names.ts';
import { shownCreativeId } from '../../domain/creatives/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { ApiError, NotDoneError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { CampaignStores } from '../campaigns/handler.ts';
import { loadCreative } from './handler.ts';

const { execute, loadAt } = handlerFor(creativeNamesAggregate);

/** No running request owns an older claim: requests end after 2.8 s, and the rest exceeds the clock skew. */
const LEASE_MS = 60_000;
const TRIES_MAX = 5;

export interface HeldName {
  readonly campaignId: string;
  readonly creativeId: string;
  readonly name: string;
  readonly claimId: string;
}

export interface NewlyHeldName extends HeldName {
  /** No claim existed before, so the owner may release an unneeded one (`NameClaim`). */
  readonly isFirst: boolean;
}

export type WantedName = { readonly name: string } | { readonly names: (nth: number) => string };

/**
 * Claims a name for a creative before the creative uses it. An old claim that its creative does not use was
 * left by a crash and is released first. Why names stay unique: every command that adds a creative claims
 * again and appends within the lease, and a release names the claim it means. So an abandoned claim has no
 * running owner, and an owner that returns claims again. A command that removes the creative releases the
 * claim it found, which may belong to a running request. That request is therefore decided at the revision of
 * its claim, and claims again when the creative has changed since.
 * @throws ApiError CONFLICT
 */
export const holdName = async (
  stores: CampaignStores,
  campaignId: string,
  creativeId: string,
  wanted: WantedName,
  request: RequestContext,
): Promise<NewlyHeldName> => {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const claimId = randomUUID();
    const claiming = { now: isoTimestamp(stores.clock.now()), creativeId, claimId };
    const outcome = await runOnNames(
      stores,
      campaignId,
      'name' in wanted
        ? { type: 'ClaimName', ...claiming, name: wanted.name }
        : { type: 'ClaimFreeName', ...claiming, names: wanted.names },
      request,
    );
    if (outcome.outcome === 'done') {
      const name = 'name' in wanted ? wanted.name : (nameHeldBy(creativeId, outcome.state) ?? '');
      const isFirst = outcome.state[name]?.isFirst === true;
      return { campaignId, creativeId, name, claimId, isFirst };
    }
    if (outcome.refusal.reason === 'too-many-creatives') throw tooManyCreatives(outcome.refusal.limit);
    await releaseLeftBehind(stores, campaignId, outcome.refusal, request);
  }
  throw new NotDoneError('Other requests want the same name now. Repeat the request after Retry-After.');
};

/** @throws ApiError CONFLICT when the name is in use, or its claim may still belong to a running request */
const releaseLeftBehind = async (
  stores: CampaignStores,
  campaignId: string,
  { name, claim }: CreativeNamesRefusal & { readonly reason: 'name-taken' },
  request: RequestContext,
): Promise<void> => {
  const { customerId } = request.principal;
  const owner = await loadCreative(stores, customerId, claim.creativeId);
  if (
    owner !== undefined &&
    owner.state !== 'archived' &&
    owner.name === name &&
    owner.campaignIds.includes(campaignId)
  ) {
    throw nameTaken(name, claim.creativeId);
  }
  const now = stores.clock.now();
  if (now - Date.parse(claim.at) < LEASE_MS) throw nameTaken(name, undefined);
  const { creativeId, claimId } = claim;
  await releaseName(stores, { campaignId, creativeId, name, claimId }, request);
};

export const findHeldName = async (
  stores: CampaignStores,
  campaignId: string,
  { creativeId, name }: { readonly creativeId: string; readonly name: string },
  customerId: number,
): Promise<HeldName | undefined> => {
  const { state: names } = await loadAt(stores, customerId, campaignId);
  const claim = Object.hasOwn(names, name) ? names[name] : undefined;
  if (claim?.creativeId !== creativeId) return undefined;
  return { campaignId, creativeId, name, claimId: claim.claimId };
};

/** A failed release does not fail the completed command; the next request for the name releases it. */
export const releaseNames = async (
  stores: CampaignStores,
  held: readonly (HeldName | undefined)[],
  request: RequestContext,
): Promise<void> => {
  const known = held.filter((one) => one !== undefined);
  await Promise.allSettled(known.map((one) => releaseName(stores, one, request)));
};

const releaseName = async (
  stores: CampaignStores,
  { campaignId, ...claim }: HeldName,
  request: RequestContext,
): Promise<void> => {
  const now = isoTimestamp(stores.clock.now());
  await runOnNames(stores, campaignId, { type: 'ReleaseName', now, ...claim }, request);
};

/** Every run decides again: another request may have released what an earlier run claimed. */
const runOnNames = (
  stores: CampaignStores,
  campaignId: string,
  command: CreativeNamesCommand,
  { requestId, isAbandoned, principal: { customerId, actor } }: RequestContext,
) =>
  execute(stores, campaignId, command, {
    context: { commandId: randomUUID(), customerId, actor, requestId },
    isAbandoned,
    hasRunBefore: async () => false,
  });

/** @param creativeId the creative with this name, if known for certain */
const nameTaken = (name: string, creativeId: string | undefined): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The campaign has a creative named "${Array.from(name).slice(0, 100).join('')}". Choose another name.`,
    field: 'name',
    ...(creativeId === undefined ? {} : { details: { creativeId: shownCreativeId(creativeId) } }),
  });

const tooManyCreatives = (limit: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The campaign has ${limit} creatives, which is the limit. Detach one first.`,
    details: { limit },
  });
