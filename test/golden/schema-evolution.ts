import type { JsonSchema } from './example-data.ts';
import { sha256, versionName, type KnownEvent, type Manifest } from './golden-files.ts';

/** What is wrong with how events' schemas have changed since the manifest was written. */

const HOW =
  'Events of that version are in logs for ever. Give the type a schemaVersion of one more, with an upcaster that ' +
  'raises the data of the version before, and run `npm run golden:events`. If optional members are all that was ' +
  'added, to objects that are not strict, the version may stay: the same command takes that in.';

/**
 * @param files the golden files that are there, by name
 * @returns what to do, one text for each problem; none when all is well
 */
export const evolutionProblems = (
  known: readonly KnownEvent[],
  manifest: Manifest,
  files: ReadonlyMap<string, string>,
): readonly string[] => [
  ...known.flatMap((event) => problemsOf(event, manifest)),
  ...goneTypes(known, manifest),
  ...fileProblems(manifest, files),
];

const problemsOf = ({ type, name, definition, fingerprint }: KnownEvent, manifest: Manifest): string[] => {
  const { schemaVersion, upcasters = [] } = definition;
  const problems: string[] = [];
  if (upcasters.length !== schemaVersion - 1) {
    problems.push(
      `${type} has version ${schemaVersion} and ${upcasters.length} upcasters: each earlier version needs one`,
    );
  }
  for (let version = 1; version <= schemaVersion; version += 1) {
    if (manifest[versionName(type, version)] === undefined) {
      problems.push(`${versionName(type, version)} has no golden file: run \`npm run golden:events\``);
    }
  }
  const entry = manifest[name];
  if (entry !== undefined && entry.fingerprint !== fingerprint) {
    problems.push(`the schema of ${name} has changed. ${HOW}`);
  }
  return problems;
};

const goneTypes = (known: readonly KnownEvent[], manifest: Manifest): string[] => {
  const current = new Map(known.map(({ type, definition }) => [type, definition.schemaVersion]));
  return Object.keys(manifest).flatMap((name) => {
    const [type = '', version = ''] = name.split('.v');
    return Number(version) <= (current.get(type) ?? 0)
      ? []
      : [`${name} is in logs, and no program knows it any more: its schema must stay`];
  });
};

const fileProblems = (manifest: Manifest, files: ReadonlyMap<string, string>): string[] => {
  const listed = new Map(Object.values(manifest).flatMap((entry) => Object.entries(entry.files)));
  return [
    ...[...listed].flatMap(([file, hash]) => {
      const content = files.get(file);
      if (content === undefined)
        return [`golden file ${file} is gone: what it holds is in logs. Put it back`];
      return sha256(content) === hash
        ? []
        : [`golden file ${file} has changed: what is stored never does. Put it back`];
    }),
    ...[...files.keys()].flatMap((file) =>
      listed.has(file) ? [] : [`golden file ${file} is not in the manifest`],
    ),
  ];
};

type Schemas = Pick<Manifest[string], 'schema' | 'opened'>;

/** Whether nothing but optional members was added since; of what nothing was written down, nothing is known. */
export const isOnlyAddition = (before: Schemas, now: { readonly [Of in keyof Schemas]: unknown }): boolean =>
  isAddition(before.schema, now.schema) &&
  (before.opened === undefined || isAddition(before.opened, now.opened));

/**
 * The manifest and the golden files vouch for each other: what both have lost, or both say otherwise, is seen by what
 * they once were.
 * @returns what is wrong with a manifest, by one of an earlier commit
 */
export const lostSince = (earlier: Manifest, manifest: Manifest): readonly string[] =>
  Object.entries(earlier).flatMap(([name, before]) => {
    const now = manifest[name];
    if (now === undefined)
      return [`${name} was in an earlier manifest and is gone: it is in logs. Put it back`];
    return [
      ...Object.entries(before.files).flatMap(([file, hash]) =>
        now.files[file] === hash
          ? []
          : [
              `golden file ${file} is not what an earlier commit has: what is stored never changes. Put it back`,
            ],
      ),
      ...(isOnlyAddition(before, now)
        ? []
        : [`the schema of ${name} is another than in an earlier commit, by more than was added. ${HOW}`]),
    ];
  });

/** Whether programs that know the old schema can read what is written by the new one, and the other way round. */
export const isAddition = (old: unknown, next: unknown): boolean => {
  if (Array.isArray(old) && Array.isArray(next)) {
    return old.length === next.length && old.every((item, n) => isAddition(item, next[n]));
  }
  if (!isMembers(old) || !isMembers(next)) return old === next;
  return Object.keys({ ...old, ...next }).every((member) =>
    member === 'properties' && isMembers(old[member])
      ? areAdded(old as JsonSchema, next as JsonSchema)
      : isAddition(old[member], next[member]),
  );
};

const areAdded = (old: JsonSchema, next: JsonSchema): boolean =>
  Object.keys(old.properties ?? {}).every((member) => next.properties?.[member] !== undefined) &&
  Object.entries(next.properties ?? {}).every(([member, schema]) => {
    const before = old.properties?.[member];
    return before === undefined
      ? next.required?.includes(member) !== true && old.additionalProperties !== false
      : isAddition(before, schema);
  });

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
