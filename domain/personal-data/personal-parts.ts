import { AUDIENCE_BATCH } from '../audiences/audience.ts';
import { CONVERSIONS } from '../conversions/conversion-events.ts';

/** Which parts of events are of persons, and how they are taken out of them and put back. */

type Data = Readonly<Record<string, unknown>>;

/** One person's part of an event, as it is sealed. */
type Part = readonly [member: string, ...values: readonly unknown[]];

export interface PersonalParts {
  /** Of the streams that have such events. */
  readonly category: string;
  /** First version of the type that is sealed: what is older is in clear. */
  readonly sealedFrom: number;
  /** False: nobody needs the parts, and events are read without them. */
  readonly isOpened: boolean;
  /** Without parts nothing is sealed. */
  readonly split: (data: Data) => { readonly rest: Data; readonly parts: readonly Part[] };
  /** What `split` took apart; parts that cannot be read any more are left out. */
  readonly join: (rest: Data, parts: readonly Part[]) => Data;
  /** What a part says of whom: a subject is any of these. The first is the buyer's own id of a person, if there is one. */
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

/** With somebody's identifiers goes what else may tell who it was. */
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

/** By event type. */
export const personalParts: Readonly<Record<string, PersonalParts>> = {
  AudienceMembersStored: members,
  ConversionsLogged: matches,
};
