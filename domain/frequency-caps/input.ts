import { z } from 'zod';
import { listOf } from '../values.ts';
import { CapWindow } from './resource.ts';

const CapInput = z.object({
  max_impressions: z.int().min(1).max(2_147_483_647),
  window: z.object({ ...CapWindow.shape, unit: CapWindow.shape.unit.default('minutes') }),
});

/** Replaces the whole set. */
export const FrequencyCapsInput = listOf(CapInput, 100);
