import { randomUUID } from 'node:crypto';
import {
  creativeNamesAggregate,
  nameHeldBy,
  type CreativeNamesCommand,
  type CreativeNamesRefusal,
} from '../../domain/creatives/creative-names.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { NotDoneError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { CampaignStores } from '../campaigns/run-on-campaign.ts';
import { nameTaken, tooManyCreatives } from './creative-refusals.ts';
import { loadCreative } from './run-on-creative.ts';

const { execute, loadAt } = handlerFor(creativeNamesAggregate);

/**
 * A claim this old belongs to no request that is still under way: a request is over after 2.8 s, and the clocks of
 * the nodes differ by less than the rest.
 */
const LEASE_MS = 60_000;
const TRIES_MAX = 5;

/** A name that a creative holds in a campaign. */
export interface HeldName {
  readonly campaignId: string;
  readonly creativeId: string;
  readonly name: string;
  readonly claimId: string;
}

/** Held just now. */
export interface NewlyHeldName extends HeldName {
  /** Nobody held it before: who does not need it after all may release it (`NameClaim`). */
  readonly isFirst: boolean;
}

/** What is to be held: one name, or the first that is free. */
export type WantedName = { readonly name: string } | { readonly names: (nth: number) => string };

/**
 * Holds a name for a creative, before the creative is there under it. A name that is held by a creative that is not
 * there under it, and was claimed long ago, was left behind by a crash: it is released first.
 *
 * Why no two creatives meet: a creative is in the campaign under its name only while it holds it, because every
 * command that brings it there claims anew and appends within the lease, and because a release names the claim that
 * it means. So a claim that looks left behind can have no owner under way, and an owner who comes back claims anew.
 * A command that takes a creative from under a name releases the claim that it found before, which may be that of
 * another request for the same creative, under way: so that one is decided on the revision that it claimed at, and
 * claims again when the creative has changed since.
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
  throw new NotDoneError('Others want the same name at the moment. Repeat the request after Retry-After.');
};

/** @throws ApiError CONFLICT when the name is not left behind, or not yet */
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

/** The claim, as it is now, of the name that a creative is in a campaign under. */
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

/**
 * Lets go of names that a creative is not under any more. What fails here stays held, and is released by whoever
 * wants the name next: it must not make a failure of what is done already.
 */
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

/** Every run decides anew: what an earlier run claimed may have been released since. */
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
