import type { JsonObject } from '../../shared/event-store/event-store.ts';
import { personalParts } from '../../domain/personal-data/split-personal-data.ts';
import { sealItems } from '../../shared/personal-data/sealed-items.ts';
import { customerIn, exampleOf, idIn, type ExampleSet } from './example-data.ts';
import {
  goldenHistory,
  knownEvents,
  readManifest,
  schemaOf,
  sha256,
  versionName,
  writeGolden,
  writeManifest,
  type GoldenEvent,
  type KnownEvent,
  type Manifest,
} from './golden-files.ts';
import { goldenKeySet } from './golden-keys.ts';
import { isOnlyAddition } from './schema-evolution.ts';

/** Writes missing golden files. Existing files are never changed. */

const BEGIN = Date.parse('2026-01-02T00:00:00.000Z');
const EACH_MS = 1_000;

/** Corrections where an example of the schema alone would not fit its stream. */
const dataOf: Readonly<Record<string, (data: JsonObject, set: ExampleSet) => JsonObject>> = {
  ConversionsLogged: (data, set) => ({
    ...data,
    last: true,
    ...(set % 2 === 1
      ? { more: (data['more'] as [number, JsonObject][]).map(([, members]) => [0, members]) }
      : {}),
  }),
  CreativeAttached: (_data, set) => ({ campaignId: idIn(set, 'anotherCampaignId') }),
  CreativeDetached: (data, set) => ({ ...data, campaignId: idIn(set, 'anotherCampaignId') }),
  // The stream names both.
  SellerDeliveryReported: (data, set) => ({ ...data, sellerId: 1_000 + set, day: '2026-01-02' }),
  AudienceMembersStored: (data, set) => ({
    ...data,
    part: 1,
    add: [
      [`member-${set}`, sha256(`mail ${set}`), set % 2 === 1 ? sha256(`phone ${set}`) : null, null],
      [`other-${set}`, sha256(`mail of another ${set}`), null, [['uid2', `token-${set}`]]],
    ],
    remove: [`gone-${set}`],
  }),
};

const streamOf = ({ kind: { category, namedAfter } }: KnownEvent, set: ExampleSet): string => {
  const name = namedAfter
    .replace('<customerId>', String(customerIn(set)))
    .replace('<advertiserId>', String(100 + set))
    .replace('<sellerId>', String(1_000 + set))
    .replace('<day>', '20260102')
    .replace('<contentHash>', sha256(`contentHash ${set}`))
    .replace(/<(\w+)>/g, (_, id: string) => idIn(set, id));
  return `${category}-${name}`;
};

const goldenEvent = (event: KnownEvent, set: ExampleSet, number: number): GoldenEvent => {
  const { type, definition, kind } = event;
  const { sealed: _, ...made } = exampleOf(schemaOf(definition.data), type, set) as JsonObject;
  const data = dataOf[type]?.(made, set) ?? made;
  definition.data.parse(data);
  const commandId = idIn(number, 'command');
  const id = idIn(number, 'event');
  return {
    stream: streamOf(event, set),
    id,
    type,
    data: storedAs(type, id, definition.schemaVersion, data),
    metadata: {
      customerId: kind.namedAfter === '0' ? 0 : customerIn(set),
      actor: 'api-key:golden',
      requestId: commandId,
      correlationId: commandId,
      causationId: commandId,
      occurredAt: new Date(BEGIN + number * EACH_MS).toISOString(),
      schemaVersion: definition.schemaVersion,
    },
  };
};

/** In the form of the log: personal data is encrypted. */
const storedAs = (type: string, id: string, version: number, data: JsonObject): GoldenEvent['data'] => {
  const { sealedFrom = Infinity, split } = personalParts[type] ?? {};
  if (split === undefined || version < sealedFrom) return data as GoldenEvent['data'];
  const { rest, parts } = split(data);
  if (parts.length === 0) return rest as GoldenEvent['data'];
  const items = sealItems(
    goldenKeySet,
    id,
    parts.map((part) => JSON.stringify(part)),
  );
  return { ...(rest as GoldenEvent['data']), sealed: { keys: goldenKeySet.id, items } };
};

/**
 * Writes missing files, and adopts schemas that only gained optional members.
 * @param also types that get one more file, e.g. because new events refer to them
 * @returns the written files
 */
export const makeGolden = (also: readonly string[]): readonly string[] => {
  const manifest: Manifest = { ...readManifest() };
  const history = goldenHistory();
  const set = 1 + history.reduce((last, { metadata }) => Math.max(last, setOf(metadata.customerId)), 0);
  let number = history.length;
  const made: string[] = [];
  for (const event of knownEvents()) {
    const { name, type, schema, opened, fingerprint } = event;
    const before = manifest[name];
    const isChanged = before !== undefined && before.fingerprint !== fingerprint;
    if (isChanged && !isOnlyAddition(before, { schema, opened })) {
      throw new Error(
        `${name}: the schema changed by more than added optional members. It needs a new version`,
      );
    }
    if (before !== undefined && !isChanged && !also.includes(type)) continue;
    const count = Object.keys(before?.files ?? {}).length;
    const file = `${versionName(type, event.definition.schemaVersion)}${count === 0 ? '' : `.${count + 1}`}.json`;
    const events = [set, set + 1].map((one) => goldenEvent(event, one, (number += 1)));
    const content = writeGolden(file, events);
    const files = { ...before?.files, [file]: sha256(content) };
    manifest[name] = { fingerprint, files, ...schemasOf(event) };
    made.push(file);
  }
  writeManifest(manifest);
  return made;
};

const schemasOf = ({ schema, opened }: KnownEvent): Pick<Manifest[string], 'schema' | 'opened'> =>
  JSON.parse(JSON.stringify({ schema, opened })) as Pick<Manifest[string], 'schema' | 'opened'>;

/** Events of the installation, which have no account, belong to set 0. */
const setOf = (customerId: number): ExampleSet => (customerId === 0 ? 0 : customerId - customerIn(0));
