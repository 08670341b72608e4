import { shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import type { CreativeCommand, CreativeRefusal, CreativeStateOf } from '../../domain/creatives/creative.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { requireAssets } from './require-assets.ts';
import type { UpdateCreativeBody } from '../../domain/creatives/input.ts';
import { findHeldName, holdName, releaseNames } from './hold-names.ts';
import {
  creativeDoneBefore,
  creativeOf,
  executeOnCreative,
  isAdvertiserArchived,
  loadCreative,
  openCampaign,
  runOnCreative,
  type CreativeWrites,
} from './handler.ts';

const TRIES_MAX = 5;

type CreativeOutcome = Outcome<CreativeStateOf, CreativeRefusal>;

/**
 * The first run holds no name, so a command that is refused for another reason claims nothing. Then the name
 * is held, and the command runs again on the current creative while `name-not-held` is the only refusal.
 * @param run receives the revision at which the name was held
 * @param hold claims the name; the returned function runs after the command
 */
const withNames = async (
  writes: CreativeWrites,
  creative: Creative,
  run: (nameHeldAt: number | undefined) => Promise<CreativeOutcome>,
  hold: (current: Creative) => Promise<() => Promise<void>>,
): Promise<Creative> => {
  const needsName = (outcome: CreativeOutcome): boolean =>
    outcome.outcome === 'refused' && outcome.refusal.reason === 'name-not-held';
  let outcome = await run(undefined);
  for (let tries = 1; needsName(outcome) && tries <= TRIES_MAX; tries += 1) {
    const current = (await loadCreative(writes, creative.customerId, creative.creativeId)) ?? creative;
    const finish = await hold(current);
    outcome = await run(current.revision);
    // An unused claim stays: a concurrent request for the same creative may rely on it.
    if (outcome.outcome === 'done') await finish();
  }
  return creativeOf(outcome);
};

/**
 * A new name is claimed in all its campaigns before the change; the old one is released afterwards.
 * @throws ApiError NOT_FOUND (asset), CONFLICT (stale, archived, name taken), VALIDATION_ERROR
 */
export const updateCreative = async (
  writes: CreativeWrites,
  creative: Creative,
  body: UpdateCreativeBody,
  request: RequestContext,
): Promise<Creative> => {
  const { expectedRevision, id, advertiserId, state, frequencyCaps, ...changes } = body;
  const { customerId, creativeId } = creative;
  const commandOf = async (nameHeldAt: number | undefined): Promise<CreativeCommand> => ({
    type: 'UpdateCreative',
    now: isoTimestamp(writes.clock.now()),
    advertiserIsArchived: await isAdvertiserArchived(writes, creative),
    changes: omitUndefined(changes),
    frequencyCaps,
    newCapIds: (frequencyCaps ?? []).map((_, n) => derivedId(request.commandId, `frequency-cap-${n}`)),
    expectedRevision,
    unchangeable: { id, advertiserId, state },
    nameHeldAt,
  });
  const run = async (nameHeldAt: number | undefined) =>
    executeOnCreative(writes, creativeId, await commandOf(nameHeldAt), ofRequest(request));
  const done = await creativeDoneBefore(writes, creativeId, request);
  if (done !== undefined) return done;
  await requireAssets(writes, customerId, creative.advertiserId, changes);
  return withNames(writes, creative, run, async (current) => {
    const { name = current.name } = changes;
    const before = await Promise.all(
      current.campaignIds.map((campaignId) => findHeldName(writes, campaignId, current, customerId)),
    );
    for (const campaignId of current.campaignIds) {
      await holdName(writes, campaignId, creativeId, { name }, request);
    }
    return () => releaseNames(writes, before, request);
  });
};

/** @throws ApiError NOT_FOUND, CONFLICT */
export const attachCreative = async (
  writes: CreativeWrites,
  creative: Creative,
  { campaignId, advertiserId }: Campaign,
  request: RequestContext,
): Promise<Creative> => {
  const { creativeId } = creative;
  if (advertiserId !== creative.advertiserId) throw notFound('campaign');
  const run = async (nameHeldAt: number | undefined) =>
    executeOnCreative(
      writes,
      creativeId,
      {
        type: 'AttachCreative',
        now: isoTimestamp(writes.clock.now()),
        advertiserIsArchived: await isAdvertiserArchived(writes, creative),
        campaignId,
        nameHeldAt,
      },
      ofRequest(request),
    );
  const done = await creativeDoneBefore(writes, creativeId, request);
  if (done !== undefined) return done;
  return withNames(writes, creative, run, async (current) => {
    await holdName(writes, campaignId, creativeId, { name: current.name }, request);
    return async () => undefined;
  });
};

/** @throws ApiError NOT_FOUND, CONFLICT (a closed campaign keeps its creatives) */
export const detachCreative = async (
  writes: CreativeWrites,
  creative: Creative,
  { campaignId, archivesLast }: { readonly campaignId: string; readonly archivesLast: boolean },
  request: RequestContext,
): Promise<Creative> => {
  // A repeat must not release a name that another request has claimed since.
  const done = await creativeDoneBefore(writes, creative.creativeId, request);
  if (done !== undefined) return done;
  await openCampaign(writes, creative.customerId, shownCampaignId(campaignId));
  const held = await findHeldName(writes, campaignId, creative, creative.customerId);
  const detached = await runOnCreative(
    writes,
    creative.creativeId,
    {
      type: 'DetachCreative',
      now: isoTimestamp(writes.clock.now()),
      advertiserIsArchived: await isAdvertiserArchived(writes, creative),
      campaignId,
      archivesLast,
    },
    request,
  );
  await releaseNames(writes, [held], request);
  return detached;
};

/** @throws ApiError CONFLICT */
export const archiveCreative = async (
  writes: CreativeWrites,
  creative: Creative,
  request: RequestContext,
): Promise<Creative> => {
  const { customerId, creativeId, campaignIds } = creative;
  const held = await Promise.all(
    campaignIds.map((campaignId) => findHeldName(writes, campaignId, creative, customerId)),
  );
  const archived = await runOnCreative(
    writes,
    creativeId,
    {
      type: 'ArchiveCreative',
      now: isoTimestamp(writes.clock.now()),
      advertiserIsArchived: await isAdvertiserArchived(writes, creative),
    },
    request,
  );
  await releaseNames(writes, held, request);
  return archived;
};

/** @throws ApiError CONFLICT */
export const promoteCreative = async (
  writes: CreativeWrites,
  creative: Creative,
  role: 'evergreen' | 'reference',
  request: RequestContext,
): Promise<Creative> =>
  runOnCreative(
    writes,
    creative.creativeId,
    {
      type: 'PromoteCreative',
      now: isoTimestamp(writes.clock.now()),
      advertiserIsArchived: await isAdvertiserArchived(writes, creative),
      role,
    },
    request,
  );
