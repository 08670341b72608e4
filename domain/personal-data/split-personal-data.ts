import { AUDIENCE_BATCH } from '../audiences/audience.ts';
import { CONVERSIONS } from '../conversions/events.ts';

type Data = Readonly<Record<string, unknown>>;

/** Before encryption. */
type Part = readonly [member: string, ...values: readonly unknown[]];

export interface PersonalParts {
  readonly category: string;
  /** The first encrypted version of the type: older events are not encrypted. */
  readonly sealedFrom: number;
  /** False: readers do not need the parts and never decrypt them. */
  readonly isOpened: boolean;
  /** An event without parts is not encrypted. */
  readonly split: (data: Data) => { readonly rest: Data; readonly parts: readonly Part[] };
  /** Reverses `split`, without the parts that can no longer be decrypted. */
  readonly join: (rest: Data, parts: readonly Part[]) => Data;
  /** Each identifies the part's person. The buyer's own id comes first, if present. */
  readonly identifiers: (part: Part) => readonly string[];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

const members: PersonalParts = {
  category: AUDIENCE_BATCH,
  sealedFrom: 2,
  isOpened: true,
  split: ({ add, remove, ...rest }) => ({
    rest,
    parts: [
      ...listOf(add).map((member): Part => ['add', ...listOf(member)]),
      ...listOf(remove).map((id): Part => ['remove', id]),
    ],
  }),
  join: (rest, parts) => ({
    ...rest,
    add: parts.filter(([member]) => member === 'add').map(([, ...member]) => member),
    remove: parts.filter(([member]) => member === 'remove').map(([, id]) => id),
  }),
  identifiers: ([, id, email, phone, uids]) => textsOf([id, email, phone, ...uidValues(uids)]),
};

const uidValues = (uids: unknown): readonly unknown[] =>
  listOf(uids).map((uid) => {
    const [, value] = listOf(uid);
    return value;
  });

const textsOf = (values: readonly unknown[]): readonly string[] =>
  values.filter((value): value is string => typeof value === 'string');

type More = Readonly<Record<string, unknown>>;

/** The other members go with the identifiers, because they may identify the person, too. */
const matches: PersonalParts = {
  category: CONVERSIONS,
  sealedFrom: 2,
  isOpened: false,
  split: ({ more, ...data }) => {
    const parts: Part[] = [];
    const left = listOf(more).flatMap((pair) => {
      const [place, { userMatch, orderId, eventSourceUrl, ...others }] = pair as [number, More];
      if (userMatch === undefined) return [pair];
      parts.push(['match', place, { userMatch, orderId, eventSourceUrl }]);
      return Object.keys(others).length === 0 ? [] : [[place, others]];
    });
    if (parts.length === 0) return { rest: more === undefined ? data : { ...data, more }, parts };
    return { rest: left.length === 0 ? data : { ...data, more: left }, parts };
  },
  join: ({ more, ...rest }, parts) => {
    const byPlace = new Map(listOf(more) as readonly [number, More][]);
    for (const [, place, personal] of parts) {
      byPlace.set(place as number, { ...(personal as More), ...byPlace.get(place as number) });
    }
    return byPlace.size === 0 ? rest : { ...rest, more: [...byPlace].sort(([one], [other]) => one - other) };
  },
  identifiers: ([, , personal]) => {
    const { hashedEmail, hashedPhone, clickId, uids } = ((personal as More)['userMatch'] ?? {}) as More;
    return textsOf([hashedEmail, hashedPhone, clickId, ...listOf(uids).map((uid) => (uid as More)['value'])]);
  },
};

export const personalParts: Readonly<Record<string, PersonalParts>> = {
  AudienceMembersStored: members,
  ConversionsLogged: matches,
};
