import { z } from 'zod';
import type { JsonMembers } from '../../../domain/syndication/resource.ts';

/** Shorter ids would match parts of ordinary words and numbers. */
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
 * Removes sent identifiers from an agent's text: in stored answers no person could be forgotten
 * (docs/design/records/0008-forgetting.md). Time grows with the text, not with the members.
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

/** Keeps the length, unlike `toLowerCase`. */
const inSmall = (text: string): string => text.replaceAll(/[A-Z]+/g, (some) => some.toLowerCase());

const startOf = (text: string, at: number): string => text.slice(at, at + ID_LENGTH_MIN);

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
