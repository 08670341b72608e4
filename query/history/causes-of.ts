import type { AuditedKind } from '../resources/audited-kind.ts';
import type { CausedRow } from './audit-entries.ts';
import type { EarlierEvent } from './find-caused.ts';

export interface Effect {
  readonly row: CausedRow;
  readonly kind: AuditedKind;
  readonly state: unknown;
}

/**
 * The event or the command's id names the cause, else the order of the log does: the request's last event on
 * a stream that triggers work, or the last requested event on the same stream. Timestamps decide nothing.
 * @param earlier all events of the request, in the order of the log
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
  const named = isCause && before.find((one) => one.isRequested && isCause(one, row));
  const streams = new Set(followed?.(state));
  return (
    named ??
    before.findLast((one) => streams.has(one.stream)) ??
    before.findLast((one) => one.isRequested && one.stream === row.stream)
  );
};
