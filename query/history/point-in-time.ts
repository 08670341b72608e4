import { readText } from '../../domain/values.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { NOT_RFC_3339, readRfc3339, RFC_3339 } from '../../domain/rfc3339.ts';
import type { Until } from './fold.ts';

export type PointInTime = Exclude<Until, { readonly revision: 'last' }>;

const REVISION = /^(?:0|[1-9]\d{0,8})$/;

const pointOf = (text: string): PointInTime | string => {
  if (REVISION.test(text)) return { revision: Number(text) };
  const atMs = readRfc3339(text);
  if (typeof atMs === 'number') return { instant: isoTimestamp(atMs) };
  return atMs === NOT_RFC_3339 ? `must be the number of a revision, or ${RFC_3339}` : atMs;
};

export const pointInTime = (description: string) => readText(pointOf, { description });
