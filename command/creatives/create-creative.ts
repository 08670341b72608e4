import type { Campaign } from '../../domain/campaigns/resource.ts';
import { contentFields, type Creative } from '../../domain/creatives/resource.ts';
import { initialMembers } from '../../domain/fields.ts';
import { copyNames, newNames } from '../../domain/creatives/creative-names.ts';
import {
  contentOf,
  type CreateCreative,
  type CreativeRefusal,
  type CreativeStateOf,
} from '../../domain/creatives/creative.ts';
import { formatLabelOf } from '../../domain/creatives/format-kinds.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { requireAssets } from './require-assets.ts';
import type { CreateCreativeBody } from '../../domain/creatives/input.ts';
import { holdName, releaseNames, type WantedName } from './hold-names.ts';
import {
  createCreative,
  creativeDoneBefore,
  creativeOf,
  executeOnCreative,
  loadCreative,
  openCampaign,
  type CreativeWrites,
} from './handler.ts';

/**
 * Claims the name first. After a crash in between, a repeat with the same key completes the creative; without
 * a key the name is free again after a minute.
 * @throws ApiError NOT_FOUND (campaign, asset), CONFLICT (name taken, closed, archived)
 */
export const createInCampaign = async (
  writes: CreativeWrites,
  shownCampaignId: string,
  body: CreateCreativeBody,
  request: RequestContext,
): Promise<Creative> => {
  const { customerId } = request.principal;
  const creativeId = derivedId(request.commandId, 'creative');
  const { name = nameOf(body), ...members } = body;
  const done = await creativeDoneBefore(writes, creativeId, request);
  if (done !== undefined) return done;
  const { campaignId, advertiserId } = await openCampaign(writes, customerId, shownCampaignId);
  await requireAssets(writes, customerId, advertiserId, body);
  const wanted: WantedName = body.name === undefined ? { names: newNames(name) } : { name };
  const held = await holdName(writes, campaignId, creativeId, wanted, request);
  const identity = { advertiserId, name: held.name, campaignId, body: members };
  return creativeOf(await create(writes, creativeId, identity, request));
};

export interface GeneratedCreative {
  readonly creativeId: string;
  readonly madeIn: NonNullable<Creative['madeIn']>;
  readonly wanted: WantedName;
  readonly body: Pick<CreateCreativeBody, 'formatKind' | 'copy'>;
}

/**
 * The first of concurrent requests creates it, also for another variant: the caller checks `madeIn`.
 * @param campaign an open campaign
 * @throws ApiError CONFLICT (name taken)
 */
export const createGenerated = async (
  writes: CreativeWrites,
  { campaignId, advertiserId }: Campaign,
  { creativeId, madeIn, wanted, body }: GeneratedCreative,
  request: RequestContext,
): Promise<Creative> => {
  const held = await holdName(writes, campaignId, creativeId, wanted, request);
  const generated = {
    advertiserId,
    name: held.name,
    campaignId,
    madeIn,
    body: { ...body, source: 'generated' },
  } as const;
  const outcome = await create(writes, creativeId, generated, request);
  const isThere = outcome.outcome === 'refused' && outcome.refusal.reason === 'already-exists';
  const first = isThere ? await loadCreative(writes, request.principal.customerId, creativeId) : undefined;
  // Another request created it under another name. An earlier claim stays, as another request may rely on it.
  if (first !== undefined && first.name !== held.name && held.isFirst) {
    await releaseNames(writes, [held], request);
  }
  return first ?? creativeOf(outcome);
};

/** Names need not be unique in the library. */
export const createInLibrary = async (
  writes: CreativeWrites,
  advertiserId: number,
  body: CreateCreativeBody,
  request: RequestContext,
): Promise<Creative> => {
  const { customerId } = request.principal;
  const creativeId = derivedId(request.commandId, 'creative');
  const { name = nameOf(body), ...members } = body;
  const done = await creativeDoneBefore(writes, creativeId, request);
  if (done !== undefined) return done;
  await writableAdvertiser(writes, customerId, advertiserId);
  await requireAssets(writes, customerId, advertiserId, body);
  return creativeOf(await create(writes, creativeId, { advertiserId, name, body: members }, request));
};

const nameOf = ({ formatKind }: CreateCreativeBody): string => `${formatLabelOf(formatKind)} creative`;

interface NewCreative {
  readonly advertiserId: number;
  readonly name: string;
  readonly campaignId?: string | undefined;
  readonly madeIn?: Creative['madeIn'];
  readonly body: Omit<CreateCreativeBody, 'name'>;
}

const create = async (
  writes: CreativeWrites,
  creativeId: string,
  { advertiserId, name, campaignId, madeIn, body }: NewCreative,
  request: RequestContext,
): Promise<Outcome<CreativeStateOf, CreativeRefusal>> => {
  const { role, source = 'uploaded', frequencyCaps = [], ...content } = body;
  const command: CreateCreative = {
    type: 'CreateCreative',
    now: isoTimestamp(writes.clock.now()),
    creative: omitUndefined({
      creativeId,
      customerId: request.principal.customerId,
      advertiserId,
      name,
      role,
      source,
      campaignId,
      madeIn,
      content: { ...initialMembers(contentFields), ...omitUndefined(content) },
    }),
    frequencyCaps,
    newCapIds: frequencyCaps.map((_, n) => derivedId(request.commandId, `frequency-cap-${n}`)),
  };
  const isNew = !(await request.hasRunBefore());
  return executeOnCreative(writes, creativeId, command, { ...ofRequest(request), isNew });
};

/**
 * The campaign's stream of names chooses the first free one, so concurrent copies get different names.
 * @param campaign an open campaign that contains the source
 */
export const duplicateCreative = async (
  writes: CreativeWrites,
  source: Creative,
  { campaignId }: Campaign,
  request: RequestContext,
): Promise<Creative> => {
  const creativeId = derivedId(request.commandId, 'creative');
  const { customerId, advertiserId, role, frequencyCaps } = source;
  const done = await creativeDoneBefore(writes, creativeId, request);
  if (done !== undefined) return done;
  const { name } = await holdName(writes, campaignId, creativeId, { names: copyNames(source.name) }, request);
  const command: CreateCreative = {
    type: 'CreateCreative',
    now: isoTimestamp(writes.clock.now()),
    creative: omitUndefined({
      creativeId,
      customerId,
      advertiserId,
      name,
      role,
      source: source.source,
      campaignId,
      copyOf: source.creativeId,
      content: omitUndefined(contentOf(source)),
    }),
    frequencyCaps,
    newCapIds: frequencyCaps.map((_, n) => derivedId(request.commandId, `frequency-cap-${n}`)),
  };
  return createCreative(writes, creativeId, command, request);
};
