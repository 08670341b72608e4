import { z } from 'zod';

/** A request that something followed from, and its command. */
const OtherCause = z.object({ correlationId: z.string(), causationId: z.string() });

/** Requests that what a worker did follows from, beside the one that its event has as its correlation; each once. */
export const OtherCauses = z.array(OtherCause).readonly();
export type OtherCauses = z.infer<typeof OtherCauses>;

/** Those that an event of any version says; nearly none has any: those cost nothing. */
export const otherCausesOf = (said: unknown): OtherCauses =>
  said === undefined ? [] : (OtherCauses.safeParse(said).data ?? []);
