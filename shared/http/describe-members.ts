import type { Json } from './json-schema.ts';

/** By name, or by schema and name: `Schema.name`. Names of parameters belong to their operation's id. */
export type MemberDescriptions = Readonly<Record<string, string>>;

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Adds a description to each member without one.
 * @param owner name of the schema, or id of the operation
 * @returns members that remain without one, as paths
 */
export const describeMembers = (
  schema: unknown,
  owner: string,
  known: MemberDescriptions,
): readonly string[] => {
  if (Array.isArray(schema)) return schema.flatMap((one) => describeMembers(one, owner, known));
  if (!isJson(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'properties' && isJson(value))
      return Object.entries(value).flatMap(([name, member]) => [
        ...describeMember(member, name, owner, known),
        ...describeMembers(member, owner, known),
      ]);
    return ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(keyword)
      ? describeMembers(value, owner, known)
      : [];
  });
};

/** @param member a member's schema, or a parameter */
export const describeMember = (
  member: unknown,
  name: string,
  owner: string,
  known: MemberDescriptions,
): readonly string[] => {
  if (!isJson(member) || typeof member['description'] === 'string' || '$ref' in member) return [];
  const own = [`${owner}.${name}`, name].find((key) => Object.hasOwn(known, key));
  if (own === undefined) return [`${owner}.${name}`];
  member['description'] = known[own];
  return [];
};
