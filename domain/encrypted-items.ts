import { z } from 'zod';

/** The personal parts of an event, encrypted one by one (docs/records/0008-forgetting.md). */
export const SealedItems = z.object({
  /** UUID of the keys. */
  keys: z.string(),
  /** Base64. */
  items: z.string(),
});
