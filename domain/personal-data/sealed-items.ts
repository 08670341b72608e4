import { z } from 'zod';

/** What of an event is of persons, as the log has it: one text for each, encrypted (docs/records/0008-forgetting.md). */
export const SealedItems = z.object({
  /** Of the keys. UUID. */
  keys: z.string(),
  /** Base64. */
  items: z.string(),
});
