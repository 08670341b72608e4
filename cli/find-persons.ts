import { personalParts } from '../domain/personal-data/split-personal-data.ts';
import {
  comparePositions,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../shared/event-store/event-store.ts';
import type { PersonalKeys } from '../shared/personal-data/personal-keys.ts';
import { placeOfItem } from '../shared/personal-data/sealed-items.ts';
import { openParts, sealedOf } from '../shared/personal-data/sealed-store.ts';

/** Who is looked for. */
export interface Wanted {
  /** In the form that they are compared in (`comparable`). */
  readonly subjects: ReadonlySet<string>;
  /** The buyer's own ids of those whom a subject is found with; those that turn up are added. */
  readonly ids: Set<string>;
  /** Everybody. */
  readonly all?: boolean;
}

export interface FoundPersons {
  /** Of single keys, by the id of the key set. */
  readonly places: ReadonlyMap<string, readonly string[]>;
  readonly count: number;
  /** Places that are not sealed. */
  readonly inClear: number;
}

interface Scan {
  /** As it is stored. */
  readonly store: EventStore;
  readonly keys: Pick<PersonalKeys, 'of'>;
  readonly customerId: number;
  /** Behind this position, up to that one. */
  readonly from: Position;
  readonly to: Position;
}

type Part = Parameters<(typeof personalParts)[string]['identifiers']>[0];

/**
 * Looks through what the log has of persons. Work and time grow with the events of all accounts about members and
 * conversions; memory with what is found.
 */
export const findPersons = async (
  { store, keys, customerId, from, to }: Scan,
  wanted: Wanted,
): Promise<FoundPersons> => {
  const places = new Map<string, string[]>();
  let [count, inClear] = [0, 0];
  const look = async (event: RecordedEvent): Promise<void> => {
    const type = Object.hasOwn(personalParts, event.type) ? personalParts[event.type] : undefined;
    if (type === undefined || event.metadata.customerId !== customerId) return;
    const sealed = sealedOf(event);
    const isWanted = wantedIn(event.type, wanted);
    if (sealed === undefined) {
      inClear += type.split(event.data).parts.filter((part) => isWanted(part)).length;
      return;
    }
    // All of them go with the keys of the account.
    if (wanted.all === true) return;
    for (const [item, part] of (await openParts(keys, event)).entries()) {
      if (part === undefined || !isWanted(part)) continue;
      const ofKeys = places.get(sealed.keys) ?? [];
      places.set(sealed.keys, ofKeys);
      ofKeys.push(placeOfItem(event.id, item));
      count += 1;
    }
  };
  if (comparePositions(from, to) >= 0) return { places, count, inClear };
  const ending = new AbortController();
  const filter = { categories: Object.values(personalParts).map(({ category }) => category) };
  for await (const { events, position } of store.subscribeToAll({
    after: from,
    filter,
    signal: ending.signal,
  })) {
    for (const event of events) if (comparePositions(event.position, to) <= 0) await look(event);
    if (comparePositions(position, to) >= 0) break;
  }
  ending.abort();
  return { places, count, inClear };
};

const HASH = /^[0-9a-f]{64}$/i;

/** An identifier as it is compared: what looks like a hash may be written in capitals, here and in the log. */
export const comparable = (identifier: string): string =>
  HASH.test(identifier) ? identifier.toLowerCase() : identifier;

/** Whoever is found as a member by a subject is looked for by the buyer's own id from then on. */
const wantedIn =
  (type: string, { subjects, ids, all = false }: Wanted): ((part: Part) => boolean) =>
  (part) => {
    if (all) return true;
    const identifiers = personalParts[type]?.identifiers(part) ?? [];
    const isNamed = identifiers.some((identifier) => subjects.has(comparable(identifier)));
    if (type !== 'AudienceMembersStored') return isNamed;
    const [id = ''] = identifiers;
    if (isNamed) ids.add(id);
    return isNamed || ids.has(id);
  };
