import { z } from 'zod';

const OtherCause = z.object({ correlationId: z.string(), causationId: z.string() });

/** In addition to the event's correlation id; each once. */
export const OtherCauses = z.array(OtherCause).readonly();
export type OtherCauses = z.infer<typeof OtherCauses>;

/** Nearly no event has any, so their absence must cost nothing. */
export const otherCausesOf = (said: unknown): OtherCauses =>
  said === undefined ? [] : (OtherCauses.safeParse(said).data ?? []);
