import { z } from 'zod';

/** A further request that caused something, and its command. */
const OtherCause = z.object({ correlationId: z.string(), causationId: z.string() });

/** Further requests that caused a worker's event, in addition to its correlation id; each once. */
export const OtherCauses = z.array(OtherCause).readonly();
export type OtherCauses = z.infer<typeof OtherCauses>;

/** The further causes in an event of any version. Nearly no event has any, so their absence must cost nothing. */
export const otherCausesOf = (said: unknown): OtherCauses =>
  said === undefined ? [] : (OtherCauses.safeParse(said).data ?? []);
