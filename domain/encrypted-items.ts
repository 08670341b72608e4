import { z } from 'zod';

/** The personal parts of an event, encrypted one by one (docs/design/records/0008-forgetting.md). */
export const SealedItems = z.object({
  keys: z.string(),
  items: z.string(),
});
