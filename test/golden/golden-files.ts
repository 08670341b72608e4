import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { allEvents, type EventDefinition, type StreamKind } from '../../domain/all-events.ts';
import { canonicalJson } from '../../shared/json/canonical-json.ts';
import { packageDirectory } from '../../app/version.ts';
import type { JsonSchema } from './example-data.ts';

/** Stored samples of every event type and version, and the schemas that they were written with. */

export const GOLDEN = join(packageDirectory, 'test', 'golden');
const EVENTS = join(GOLDEN, 'events');
const MANIFEST = join(GOLDEN, 'manifest.json');

/** In the form of the log. */
const GoldenEvent = z.strictObject({
  stream: z.string(),
  id: z.uuid(),
  type: z.string(),
  data: z.record(z.string(), z.json()),
  metadata: z.strictObject({
    customerId: z.int(),
    actor: z.string(),
    requestId: z.string(),
    correlationId: z.string(),
    causationId: z.string(),
    occurredAt: z.string(),
    schemaVersion: z.int(),
  }),
});
export type GoldenEvent = z.infer<typeof GoldenEvent>;

const JsonRecord = z.record(z.string(), z.json());

/** Keyed by `<type>.v<version>`. */
const Manifest = z.record(
  z.string(),
  z.strictObject({
    /** SHA-256 of the canonical JSON of the schema, or of both schemas. */
    fingerprint: z.string(),
    /** SHA-256 of each golden file, by name. */
    files: z.record(z.string(), z.string()),
    /** The schema of the stored data. */
    schema: JsonRecord,
    /** The schema of the decrypted data, where personal parts are encrypted. */
    opened: JsonRecord.optional(),
  }),
);
export type Manifest = z.infer<typeof Manifest>;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A current event type of the program. */
export interface KnownEvent {
  readonly kind: StreamKind;
  readonly type: string;
  readonly definition: EventDefinition;
  /** The schema of its current version. */
  readonly name: string;
  readonly schema: JsonSchema;
  /** The schema of the decrypted data, where personal parts are encrypted in the log. */
  readonly opened?: JsonSchema;
  readonly fingerprint: string;
}

export const versionName = (type: string, version: number): string => `${type}.v${version}`;

export const schemaOf = (stored: z.ZodType): JsonSchema => {
  const { $schema: _, ...schema } = z.toJSONSchema(stored, { io: 'input', unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(schema)) as JsonSchema;
};

const fingerprintOf = (schema: unknown): string => sha256(canonicalJson(schema));

export const knownEvents = (kinds: readonly StreamKind[] = allEvents): readonly KnownEvent[] =>
  kinds.flatMap((kind) =>
    Object.entries(kind.events).map(([type, definition]) => {
      const name = versionName(type, definition.schemaVersion);
      const known = { kind, type, definition, name };
      const data = schemaOf(definition.data);
      if (definition.stored === undefined)
        return { ...known, schema: data, fingerprint: fingerprintOf(data) };
      const schema = schemaOf(definition.stored);
      return { ...known, schema, opened: data, fingerprint: fingerprintOf({ schema, opened: data }) };
    }),
  );

export const readManifest = (): Manifest =>
  existsSync(MANIFEST) ? Manifest.parse(JSON.parse(readFileSync(MANIFEST, 'utf8'))) : {};

/**
 * The manifests of all earlier commits, also of merged branches, as far as this clone contains them. A shallow
 * clone has fewer; sources without git have none.
 */
export const earlierManifests = (): readonly Manifest[] => {
  const path = relative(packageDirectory, MANIFEST);
  const changes = git(['log', '--full-history', '-m', '--format=', '--raw', '--no-abbrev', '--', path]);
  if (changes === undefined) return [];
  const blobs = new Set(
    changes.split('\n').flatMap((line) => /^:\S+ \S+ \S+ ([0-9a-f]+) /.exec(line)?.[1] ?? []),
  );
  return [...blobs]
    .filter((blob) => !/^0+$/.test(blob))
    .map((blob) => Manifest.parse(JSON.parse(git(['cat-file', 'blob', blob]) ?? '{}')));
};

/** @returns the command's output; undefined when it fails */
const git = (words: readonly string[]): string | undefined => {
  const { status, stdout } = spawnSync('git', [...words], {
    cwd: packageDirectory,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return status === 0 ? stdout : undefined;
};

export const writeManifest = (manifest: Manifest): void => {
  const sorted = Object.fromEntries(
    Object.entries(manifest).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  writeFileSync(MANIFEST, `${JSON.stringify(sorted, null, 1)}\n`);
};

export const goldenFileNames = (): readonly string[] =>
  existsSync(EVENTS) ? readdirSync(EVENTS).sort() : [];

export const readGoldenText = (file: string): string => readFileSync(join(EVENTS, file), 'utf8');

const readGolden = (file: string): readonly GoldenEvent[] =>
  z.array(GoldenEvent).parse(JSON.parse(readGoldenText(file)));

/** Never overwrites a file. @returns the written text */
export const writeGolden = (file: string, events: readonly GoldenEvent[]): string => {
  const content = `${JSON.stringify(events, null, 2)}\n`;
  mkdirSync(EVENTS, { recursive: true });
  writeFileSync(join(EVENTS, file), content, { flag: 'wx' });
  return content;
};

/** Every golden event, in the order of `occurredAt`. */
export const goldenHistory = (): readonly GoldenEvent[] =>
  goldenFileNames()
    .flatMap(readGolden)
    .sort((one, other) => (one.metadata.occurredAt < other.metadata.occurredAt ? -1 : 1));
