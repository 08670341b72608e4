import { z } from 'zod';
import { equalJson } from '../equal-json.ts';

/** JSON Pointers (RFC 6901), e.g. `/autonomy/rebriefing`: names may contain dots. A list is one value. */
export const Change = z
  .strictObject({
    path: z.string().meta({ description: 'JSON Pointer of the member (RFC 6901), e.g. `/name`.' }),
    before: z.unknown().optional().meta({ description: 'Absent if the member did not exist.' }),
    after: z.unknown().optional().meta({ description: 'Absent if the member no longer exists.' }),
  })
  .meta({ id: 'Change' });
export type Change = z.infer<typeof Change>;

/** Values by JSON Pointer: everything but objects, and empty objects. */
export type Members = ReadonlyMap<string, unknown>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (member: string): string => member.replaceAll('~', '~0').replaceAll('/', '~1');

/** @param state JSON, where undefined members count as absent; undefined has no members */
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

/** Members of `before` first. An undefined state has no members. */
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

/** The cause of each member's value. */
export type Explanation<By> = ReadonlyMap<string, { readonly value: unknown; readonly by: By }>;

export const explainNext = <By>(before: Explanation<By>, next: unknown, by: By): Explanation<By> => {
  const explanation = new Map<string, { readonly value: unknown; readonly by: By }>();
  for (const [path, value] of membersOf(next)) {
    const known = before.get(path);
    explanation.set(path, known !== undefined && equalJson(known.value, value) ? known : { value, by });
  }
  return explanation;
};
