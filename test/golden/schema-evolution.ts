import type { JsonSchema } from './example-data.ts';
import { sha256, versionName, type KnownEvent, type Manifest } from './golden-files.ts';

/** Finds forbidden changes of event schemas since the manifest was written. */

const HOW =
  'Logs keep events of that version forever. Increase the schemaVersion of the type by one, with an upcaster that ' +
  'converts the data of the previous version, and run `npm run golden:events`. If only optional members were ' +
  'added, to objects that are not strict, the version may stay: the same command updates the manifest.';

/**
 * @param files the existing golden files, by name
 * @returns one text for each problem, which says what to do
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
      : [`${name} was removed, but logs contain its events: put its schema back`];
  });
};

const fileProblems = (manifest: Manifest, files: ReadonlyMap<string, string>): string[] => {
  const listed = new Map(Object.values(manifest).flatMap((entry) => Object.entries(entry.files)));
  return [
    ...[...listed].flatMap(([file, hash]) => {
      const content = files.get(file);
      if (content === undefined)
        return [`golden file ${file} is missing, but logs contain its events. Put it back`];
      return sha256(content) === hash
        ? []
        : [`golden file ${file} has changed, but stored events never change. Put it back`];
    }),
    ...[...files.keys()].flatMap((file) =>
      listed.has(file) ? [] : [`golden file ${file} is not in the manifest`],
    ),
  ];
};

type Schemas = Pick<Manifest[string], 'schema' | 'opened'>;

/** Whether only optional members were added since. An entry without `opened` is compared by `schema` only. */
export const isOnlyAddition = (before: Schemas, now: { readonly [Of in keyof Schemas]: unknown }): boolean =>
  isAddition(before.schema, now.schema) &&
  (before.opened === undefined || isAddition(before.opened, now.opened));

/**
 * Compares a manifest with that of an earlier commit: manifest and golden files verify each other, but not when
 * both were changed or removed together.
 * @returns one text for each problem
 */
export const lostSince = (earlier: Manifest, manifest: Manifest): readonly string[] =>
  Object.entries(earlier).flatMap(([name, before]) => {
    const now = manifest[name];
    if (now === undefined)
      return [`${name} is missing from the manifest, but was in an earlier commit. Put it back`];
    return [
      ...Object.entries(before.files).flatMap(([file, hash]) =>
        now.files[file] === hash
          ? []
          : [
              `golden file ${file} differs from an earlier commit, but stored events never change. Put it back`,
            ],
      ),
      ...(isOnlyAddition(before, now)
        ? []
        : [`the schema of ${name} differs from an earlier commit by more than added members. ${HOW}`]),
    ];
  });

/** Whether programs with the old schema can read events of the new one, and vice versa. */
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
