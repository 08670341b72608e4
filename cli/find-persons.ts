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

export interface PersonSearch {
  /** Identifiers as `comparable` returns them. */
  readonly subjects: ReadonlySet<string>;
  /** The buyer's own ids. The search adds those of members that match a subject. */
  readonly ids: Set<string>;
  readonly all?: boolean;
}

export interface FoundPersons {
  /** Item locations to delete single keys of, by id of the key set. */
  readonly places: ReadonlyMap<string, readonly string[]>;
  readonly count: number;
  /** Matching items that an earlier version stored unencrypted. */
  readonly inClear: number;
}

interface Scan {
  readonly store: EventStore;
  readonly keys: Pick<PersonalKeys, 'of'>;
  readonly customerId: number;
  readonly from: Position;
  readonly to: Position;
}

type Part = Parameters<(typeof personalParts)[string]['identifiers']>[0];

/** Time grows with the member and conversion events of all accounts, memory with the matches. */
export const findPersons = async (
  { store, keys, customerId, from, to }: Scan,
  wanted: PersonSearch,
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
    // The keys of the whole account are deleted, so single items need no match.
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

/** Hex hashes are compared in lower case. */
export const comparable = (identifier: string): string =>
  HASH.test(identifier) ? identifier.toLowerCase() : identifier;

/** A member that matches by a subject adds the buyer's own id, so that events with only that id match too. */
const wantedIn =
  (type: string, { subjects, ids, all = false }: PersonSearch): ((part: Part) => boolean) =>
  (part) => {
    if (all) return true;
    const identifiers = personalParts[type]?.identifiers(part) ?? [];
    const isNamed = identifiers.some((identifier) => subjects.has(comparable(identifier)));
    if (type !== 'AudienceMembersStored') return isNamed;
    const [id = ''] = identifiers;
    if (isNamed) ids.add(id);
    return isNamed || ids.has(id);
  };
