import type { AuditedKind } from '../resources/audited-kind.ts';
import type { EventRow } from './audit-entries.ts';
import type { Subject } from './audit-log-entry.ts';
import type { ForEach } from '../../shared/async/limit.ts';
import type { RecordedChange, StreamHistory } from './stream-history.ts';

export type ChangeOfRow = (row: EventRow) => RecordedChange | undefined;

/** Folds each stream once. @param kindOf undefined for events that are not folded */
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
    const group = streams.get(keyOf(kind, row)) ?? { kind, revisions: new Set() };
    group.revisions.add(row.revision + 1);
    streams.set(keyOf(kind, row), group);
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

export interface Namesake {
  readonly kind: AuditedKind;
  readonly stream: string;
}

/** Reads each stream once. */
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

const keyOf = ({ resourceType }: AuditedKind, { stream, part }: EventRow): string =>
  `${resourceType} ${stream} ${part ?? ''}`;
