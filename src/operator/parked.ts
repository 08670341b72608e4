import type { Backbone } from '../composition.ts';
import { allProjections } from '../projections/all-projections.ts';
import { listParked, type ParkedStream } from '../projections/engine/parked-streams.ts';
import { retryParked, type RetryOutcome } from '../projections/engine/retry-parked.ts';

/** Every parked stream, a page at a time. */
export async function* parkedStreams({ pool }: Backbone): AsyncGenerator<ParkedStream> {
  let page = await listParked(pool);
  while (page.length > 0) {
    yield* page;
    const after = page.at(-1);
    page = after === undefined ? [] : await listParked(pool, { after });
  }
}

/**
 * Tries a parked stream again, beside a running service.
 * @throws Error when no read model has that name
 */
export const retryStream = (
  { pool, store }: Backbone,
  name: string,
  stream: string,
): Promise<RetryOutcome> => {
  const projection = allProjections.find((one) => one.name === name);
  if (projection === undefined) {
    throw new Error(
      `no read model is named ${name}; there are: ${allProjections.map((one) => one.name).join(', ')}`,
    );
  }
  return retryParked(pool, store, projection, stream);
};
