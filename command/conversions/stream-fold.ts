import { typeAt, type Health } from '../../domain/conversions/events.ts';
import { commandInto, FINGERPRINT_WORDS, fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import type { Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { DAYS_KNOWN } from '../../domain/conversions/fingerprint.ts';
import { createFingerprintTable, type FingerprintTable } from './fingerprint-table.ts';
import { loggedData } from './logged-data.ts';
import type { Segment } from './segments.ts';

const DAY_MS = 86_400_000;
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** A command may be repeated for 24 h after its answer, which may come 24 h after its first run. */
const COMMAND_DAYS_KNOWN = 3;

export interface LoggedCall {
  readonly commandId: string;
  readonly fingerprints: Uint32Array;
  readonly spots: Uint32Array;
  readonly accepted: readonly number[];
  readonly health: Health;
}

/** Events and segments may be added in any order. */
export interface StreamFold {
  readonly table: FingerprintTable;
  readonly revision: number;
  readonly position: Position | undefined;
  readonly health: Health;
  hasCommand(commandId: string): boolean;
  addEvent(event: RecordedEvent): void;
  addSegment(segment: Segment): void;
  addLogged(
    calls: readonly LoggedCall[],
    last: { readonly revision: number; readonly position: Position },
    atMs: number,
  ): void;
}

export const createStreamFold = (sourceId: string): StreamFold => {
  const fingerprintInto = fingerprintsOf(sourceId);
  const table = createFingerprintTable();
  const one = new Uint32Array(FINGERPRINT_WORDS);
  let revision = -1;
  let position: Position | undefined;
  let health: Health = 'not_seen';

  /** Commands share the table of items. An earlier day makes them expire after a few days. */
  const addCommand = (words: Uint32Array, at: number, day: number): void =>
    table.add(words, at, day - (DAYS_KNOWN - COMMAND_DAYS_KNOWN));

  return {
    table,
    get revision() {
      return revision;
    },
    get position() {
      return position;
    },
    get health() {
      return health;
    },
    hasCommand: (commandId) => {
      commandInto(commandId, one, 0);
      return table.has(one, 0);
    },
    addEvent: (event) => {
      const data = loggedData(event);
      const day = dayOf(Date.parse(event.recordedAt));
      const { eventIds } = data;
      for (let item = 0; item < eventIds.length; item += 1) {
        fingerprintInto(typeAt(data, item), eventIds[item] as string, one, 0);
        table.add(one, 0, day);
      }
      commandInto(event.metadata.causationId, one, 0);
      addCommand(one, 0, day);
      if (event.revision > revision) ({ revision, position } = event);
      if (event.revision === revision) ({ health } = data);
    },
    addSegment: ({ recordedAtMs, fingerprints, commands }) => {
      const day = dayOf(recordedAtMs);
      for (let at = 0; at < fingerprints.length; at += FINGERPRINT_WORDS) table.add(fingerprints, at, day);
      for (let at = 0; at < commands.length; at += FINGERPRINT_WORDS) addCommand(commands, at, day);
    },
    addLogged: (calls, last, atMs) => {
      const day = dayOf(atMs);
      for (const { commandId, fingerprints, spots, accepted, health: after } of calls) {
        for (const item of accepted) table.add(fingerprints, item * FINGERPRINT_WORDS, day, spots[item]);
        commandInto(commandId, one, 0);
        addCommand(one, 0, day);
        health = after;
      }
      ({ revision, position } = last);
    },
  };
};
