import type { AuditedKind } from '../resources/audited-kind.ts';
import type { EventRow } from './audit-entries.ts';
import type { Subject } from './audit-log-entry.ts';
import type { ForEach } from '../../shared/async/limit.ts';
import type { RecordedChange, StreamHistory } from './stream-history.ts';

/** What a row's event did, and to which thing; undefined for what is not folded. */
export type ChangeOfRow = (row: EventRow) => RecordedChange | undefined;

/**
 * What the events of these rows did: each stream is folded once, whatever of it is asked for.
 * @param kindOf undefined where events are not folded
 */
export const changesOfRows = async (
  history: StreamHistory,
  forEach: ForEach,
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
  await forEach(streams, async ([key, { kind, revisions }]) => {
    const [, stream = '', part = ''] = key.split(' ');
    const place = part === '' ? { stream } : { stream, part };
    found.set(key, await history.changesAt(kind, place, [...revisions]));
  });
  return (row) => {
    const kind = kindOf(row);
    return kind && found.get(keyOf(kind, row))?.get(row.revision + 1);
  };
};

/** A thing that rows of another stream are called by. */
export interface Namesake {
  readonly kind: AuditedKind;
  readonly stream: string;
}

/** What these are called now; each stream is read once, however many rows are called by it. */
export const subjectsOf = async (
  history: StreamHistory,
  forEach: ForEach,
  namesakes: readonly Namesake[],
): Promise<ReadonlyMap<string, Subject>> => {
  const subjects = new Map<string, Subject>();
  const byStream = new Map(namesakes.map((one) => [one.stream, one.kind]));
  await forEach(byStream, async ([stream, kind]) => {
    const { state } = await history.stateAt(kind, stream, { revision: 'last' });
    subjects.set(stream, { id: kind.idOf(state, undefined), name: kind.nameOf(state, undefined) });
  });
  return subjects;
};

/** Neither has a space in it. */
const keyOf = ({ resourceType }: AuditedKind, { stream, part }: EventRow): string =>
  `${resourceType} ${stream} ${part ?? ''}`;
