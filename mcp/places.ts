import { z } from 'zod';
import { invalid } from '../shared/http/errors.ts';
import { shownAs } from './json-schema.ts';

/** Models write ids as they have read them: some of them are numbers. */
const Id = z.union([z.string().min(1).max(1_000), z.int()]).transform(String);

export const idArgument = (description: string) => shownAs(Id, { type: ['string', 'integer'], description });

const descriptions = {
  advertiserId: 'Id of the advertiser.',
  campaignId: 'Id of the campaign.',
  engineId: 'Id of the creative engine.',
  webhookSubscriptionId: 'Id of the webhook subscription.',
} as const;

/** Arguments that say below what an object is. */
export type PlaceArgument = keyof typeof descriptions;
const names = Object.keys(descriptions) as PlaceArgument[];

/** @param usersOf what needs the argument, for its description */
export const placeArguments = (usersOf: (place: PlaceArgument) => string) =>
  Object.fromEntries(
    names.map((name) => [name, idArgument(`${descriptions[name]} ${usersOf(name)}`).optional()]),
  ) as Record<PlaceArgument, z.ZodOptional<ReturnType<typeof idArgument>>>;

export type Places = Readonly<Partial<Record<PlaceArgument, string | undefined>>>;

/** @throws ApiError VALIDATION_ERROR if a place is missing */
export const requirePlaces = (
  kind: string,
  needs: readonly PlaceArgument[] | undefined,
  given: Places,
  prefix = '',
): void => {
  const missing = needs?.find((name) => given[name] === undefined);
  if (missing === undefined) return;
  throw invalid(`${prefix}${missing} is needed for kind ${kind}: ${descriptions[missing]}`, prefix + missing);
};
