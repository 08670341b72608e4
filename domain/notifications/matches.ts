import { z } from 'zod';
import { listOf } from '../values.ts';
import { publicKinds, type PublicKind } from './kinds.ts';

const ALL = '*';
const PATTERNS_MAX = 100;

const resources = new Set(publicKinds.map((kind) => kind.slice(0, kind.indexOf('.') + 1)));

const EventTypePattern = z.enum([ALL, ...[...resources].map((start) => start + ALL), ...publicKinds], {
  error:
    'must be a kind of event, all of a resource, e.g. "creative.*", or "*"; GET /api/v2/buyer/webhook-event-types lists the kinds',
});

/** `creative.updated`, `creative.*` (all of the resource) or `*` (all). */
export const EventTypes = listOf(EventTypePattern, PATTERNS_MAX).min(1);

/** Internal kinds match no pattern. @param patterns `creative.updated`, `creative.*` or `*` */
export const matchesKind = (patterns: readonly string[], kind: string): boolean =>
  (publicKinds as readonly string[]).includes(kind) && patterns.some((pattern) => isIn(pattern, kind));

export const kindsMatching = (patterns: readonly string[]): readonly PublicKind[] =>
  publicKinds.filter((kind) => matchesKind(patterns, kind));

const isIn = (pattern: string, kind: string): boolean =>
  pattern === ALL ||
  pattern === kind ||
  (pattern.endsWith(`.${ALL}`) && kind.startsWith(pattern.slice(0, -ALL.length)));
