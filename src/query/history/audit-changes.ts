import type { AuditedKind } from './audited-kind.ts';
import type { EventRow } from './audit-entries.ts';
import type { RecordedChange, StreamHistory } from './stream-history.ts';

/** What a row's event did, and to which thing; undefined for what is not folded. */
export type ChangeOfRow = (row: EventRow) => RecordedChange | undefined;

/** Streams that are read at once for a page. */
const LANES = 16;

/**
 * What the events of these rows did: each stream is folded once, whatever of it is asked for.
 * @param kindOf undefined where events are not folded
 */
export const changesOfRows = async (
  history: StreamHistory,
  rows: readonly EventRow[],
  kindOf: (row: EventRow) => AuditedKind | undefined,
): Promise<ChangeOfRow> => {
  const streams = new Map<string, { readonly kind: AuditedKind; readonly revisions: Set<number> }>();
  for (const row of rows) {
    const kind = kindOf(row);
    if (kind === undefined) continue;
    const asked = streams.get(keyOf(kind, row)) ?? { kind, revisions: new Set() };
    asked.revisions.add(row.revision + 1);
    streams.set(keyOf(kind, row), asked);
  }
  const found = new Map<string, ReadonlyMap<number, RecordedChange>>();
  const waiting = streams.entries();
  const work = async (): Promise<void> => {
    for (const [key, { kind, revisions }] of waiting) {
      const [, stream = '', part = ''] = key.split(' ');
      const place = part === '' ? { stream } : { stream, part };
      found.set(key, await history.changesAt(kind, place, [...revisions]));
    }
  };
  await Promise.all(Array.from({ length: Math.min(LANES, streams.size) }, work));
  return (row) => {
    const kind = kindOf(row);
    return kind && found.get(keyOf(kind, row))?.get(row.revision + 1);
  };
};

/** Neither has a space in it. */
const keyOf = ({ resourceType }: AuditedKind, { stream, part }: EventRow): string =>
  `${resourceType} ${stream} ${part ?? ''}`;
