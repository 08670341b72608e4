import type { Campaign } from '../../domain/campaigns/resource.ts';
import { copyNames } from '../../domain/creatives/creative-names.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import { contentOf, type CreateCreative } from '../../domain/creatives/creative.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { CreativeWrites } from './creative-writes.ts';
import { holdName } from './hold-names.ts';
import { createCreative, creativeDoneBefore } from './load.ts';

/**
 * Copies a creative within a campaign under the first free name. The campaign's
 * stream of names chooses it, so concurrent copies get different names.
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
