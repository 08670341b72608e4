import { z } from 'zod';
import { equalJson } from '../equal-json.ts';

/**
 * What changed between two states of a thing, member by member. A member is named by its JSON Pointer (RFC 6901), e.g.
 * `/name` or `/autonomy/rebriefing`: names may have dots in them. Lists are values as a whole.
 */
export const Change = z
  .strictObject({
    path: z.string().meta({ description: 'JSON Pointer of the member (RFC 6901), e.g. `/name`.' }),
    before: z.unknown().optional().meta({ description: 'Absent: the member was not there.' }),
    after: z.unknown().optional().meta({ description: 'Absent: the member is not there any more.' }),
  })
  .meta({ id: 'Change' });
export type Change = z.infer<typeof Change>;

/** Values by their pointers: whatever is no object, and objects without members. */
export type Members = ReadonlyMap<string, unknown>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (member: string): string => member.replaceAll('~', '~0').replaceAll('/', '~1');

/** @param state JSON, where undefined members count as absent ones; undefined has no members */
export const membersOf = (state: unknown): Members => {
  const members = new Map<string, unknown>();
  const add = (value: unknown, pointer: string): void => {
    const entries = isObject(value) ? Object.entries(value).filter(([, one]) => one !== undefined) : [];
    if (entries.length === 0) members.set(pointer, value);
    for (const [name, one] of entries) add(one, `${pointer}/${escaped(name)}`);
  };
  if (state !== undefined) add(state, '');
  return members;
};

/** In the order of the pointers' first appearance: first what was there before. Undefined states have no members. */
export const changesBetween = (before: unknown, after: unknown): Change[] => {
  const [old, fresh] = [membersOf(before), membersOf(after)];
  const changes: Change[] = [];
  for (const [path, value] of old) {
    if (!fresh.has(path)) changes.push({ path, before: value });
    else if (!equalJson(value, fresh.get(path)))
      changes.push({ path, before: value, after: fresh.get(path) });
  }
  for (const [path, value] of fresh) if (!old.has(path)) changes.push({ path, after: value });
  return changes;
};

/** Each member of a state, and what set it to the value that it has. */
export type Explanation<By> = ReadonlyMap<string, { readonly value: unknown; readonly by: By }>;

/**
 * The explanation of the next state.
 * @param by what led from the state before to the next one
 */
export const explainNext = <By>(before: Explanation<By>, next: unknown, by: By): Explanation<By> => {
  const explanation = new Map<string, { readonly value: unknown; readonly by: By }>();
  for (const [path, value] of membersOf(next)) {
    const known = before.get(path);
    explanation.set(path, known !== undefined && equalJson(known.value, value) ? known : { value, by });
  }
  return explanation;
};
