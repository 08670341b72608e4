import { advertisersProjection } from './advertisers.ts';
import type { Projection } from './engine/projection.ts';

/** Every read model of the service. */
export const allProjections: readonly Projection[] = [advertisersProjection];
