import type { AuditedKind } from '../resources/audited-kind.ts';
import type { CausedRow } from './audit-entries.ts';
import type { EarlierEvent } from './find-caused.ts';

/** What the service did by itself: a row, its kind, and what its thing was then. */
export interface Effect {
  readonly row: CausedRow;
  readonly kind: AuditedKind;
  readonly state: unknown;
}

/**
 * The commands that commands of the service followed from. As the event or its id says, where they do; else by the order of the log:
 * the last of the same request on a stream whose changes have the service act, or the last on its own stream that was
 * asked for. Clocks say nothing here.
 * @param earlier all that belongs to the request, in the order of the log
 */
export const causesOf = (
  effects: readonly Effect[],
  earlier: readonly EarlierEvent[],
): ReadonlyMap<string, string> => {
  const causes = new Map<string, string>();
  for (const effect of effects) {
    const { position, causationId, ledBy } = effect.row;
    if (causes.has(causationId)) continue;
    if (ledBy !== null) {
      causes.set(causationId, ledBy);
      continue;
    }
    const before = earlier.filter((one) => one.position < position && one.causationId !== causationId);
    const cause = causeAmong(before, effect);
    if (cause !== undefined) causes.set(causationId, cause.causationId);
  }
  return causes;
};

const causeAmong = (
  before: readonly EarlierEvent[],
  { row, kind: { causes }, state }: Effect,
): EarlierEvent | undefined => {
  const { isCause, followed } = causes;
  const named = isCause && before.find((one) => one.isAsked && isCause(one, row));
  const streams = new Set(followed?.(state));
  return (
    named ??
    before.findLast((one) => streams.has(one.stream)) ??
    before.findLast((one) => one.isAsked && one.stream === row.stream)
  );
};
