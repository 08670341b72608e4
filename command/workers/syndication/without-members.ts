import { z } from 'zod';
import type { JsonMembers } from '../../../domain/syndication/syndication-resource.ts';

/** Shorter ids of the buyer's are found in words and numbers that mean something else. */
const ID_LENGTH_MIN = 4;

const Members = z.array(
  z.object({
    external_id: z.string(),
    hashed_email: z.string().optional(),
    hashed_phone: z.string().optional(),
    uids: z.array(z.object({ value: z.string() })).optional(),
  }),
);
const Request = z.object({
  audiences: z.array(z.object({ add: Members.optional(), remove: Members.optional() })),
});

/**
 * Leaves the members out of an agent's words that it was sent in a call, all identifiers, in capitals or not: what is
 * kept of an answer is in the log for ever, and nobody could be forgotten there
 * (docs/records/0008-forgetting.md). A text costs its length, whatever the number of members.
 */
export const membersConcealed = (request: JsonMembers): ((text: string) => string) => {
  const audiences = Request.safeParse(request).data?.audiences ?? [];
  const said = audiences.flatMap(({ add = [], remove = [] }) =>
    [...add, ...remove].flatMap(({ external_id, hashed_email, hashed_phone, uids = [] }) =>
      [external_id, hashed_email, hashed_phone, ...uids.map(({ value }) => value)].flatMap(
        (one) => one ?? [],
      ),
    ),
  );
  const known = new Set(said.filter(({ length }) => length >= ID_LENGTH_MIN).map(inSmall));
  if (known.size === 0) return (text) => text;
  const lengths = lengthsByStart(known);
  return (text) => conceal(text, known, lengths);
};

/** Of the same length, unlike what `toLowerCase` makes of some letters. */
const inSmall = (text: string): string => text.replaceAll(/[A-Z]+/g, (some) => some.toLowerCase());

const startOf = (text: string, at: number): string => text.slice(at, at + ID_LENGTH_MIN);

/** How long those are that begin alike; the longest first. */
const lengthsByStart = (known: ReadonlySet<string>): ReadonlyMap<string, readonly number[]> => {
  const found = new Map<string, Set<number>>();
  for (const one of known) {
    const start = startOf(one, 0);
    const lengths = found.get(start) ?? new Set();
    found.set(start, lengths.add(one.length));
  }
  return new Map([...found].map(([start, lengths]) => [start, [...lengths].sort((a, b) => b - a)]));
};

const conceal = (
  text: string,
  known: ReadonlySet<string>,
  lengths: ReadonlyMap<string, readonly number[]>,
): string => {
  const small = inSmall(text);
  let shown = '';
  let shownTo = 0;
  for (let at = 0; at + ID_LENGTH_MIN <= small.length;) {
    const length = lengths.get(startOf(small, at))?.find((one) => known.has(small.slice(at, at + one)));
    if (length === undefined) {
      at += 1;
      continue;
    }
    shown += `${text.slice(shownTo, at)}[member]`;
    at += length;
    shownTo = at;
  }
  return shown + text.slice(shownTo);
};
