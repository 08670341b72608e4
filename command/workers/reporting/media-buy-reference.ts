import { z } from 'zod';

/** Ids are shown and compared unchanged, so a part of one would be another id. */
const Id = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u);
const Reference = z.object({ buyer_ref: z.string().nullish() }).nullish();

/** AdCP 3 has no member for the reference: sellers repeat it in the member of AdCP 2, in `ext` or in `context`. */
export const ReferringBuy = z.object({
  media_buy_id: Id,
  buyer_ref: z.string().nullish(),
  context: Reference,
  ext: Reference,
});

export const referenceOf = ({
  buyer_ref,
  ext,
  context,
}: Omit<z.output<typeof ReferringBuy>, 'media_buy_id'>): string | undefined =>
  buyer_ref ?? ext?.buyer_ref ?? context?.buyer_ref ?? undefined;
