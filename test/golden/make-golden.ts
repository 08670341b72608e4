import type { JsonObject } from '../../shared/event-store/event-store.ts';
import { personalParts } from '../../domain/personal-data/split-personal-data.ts';
import { sealItems } from '../../shared/personal-data/sealed-items.ts';
import { customerIn, exampleOf, idIn, type World } from './example-data.ts';
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

/** Golden files for what has none yet. What is there is never changed. */

const BEGIN = Date.parse('2026-01-02T00:00:00.000Z');
const EACH_MS = 1_000;

/** Where examples of their schema alone would not fit what their streams are. */
const dataOf: Readonly<Record<string, (data: JsonObject, world: World) => JsonObject>> = {
  ConversionsLogged: (data, world) => ({
    ...data,
    last: true,
    ...(world % 2 === 1
      ? { more: (data['more'] as [number, JsonObject][]).map(([, members]) => [0, members]) }
      : {}),
  }),
  CreativeAttached: (_data, world) => ({ campaignId: idIn(world, 'anotherCampaignId') }),
  CreativeDetached: (data, world) => ({ ...data, campaignId: idIn(world, 'anotherCampaignId') }),
  AudienceMembersStored: (data, world) => ({
    ...data,
    part: 1,
    add: [
      [`member-${world}`, sha256(`mail ${world}`), world % 2 === 1 ? sha256(`phone ${world}`) : null, null],
      [`other-${world}`, sha256(`mail of another ${world}`), null, [['uid2', `token-${world}`]]],
    ],
    remove: [`gone-${world}`],
  }),
};

const streamOf = ({ kind: { category, namedAfter } }: KnownEvent, world: World): string => {
  const name = namedAfter
    .replace('<customerId>', String(customerIn(world)))
    .replace('<advertiserId>', String(100 + world))
    .replace('<contentHash>', sha256(`contentHash ${world}`))
    .replace(/<(\w+)>/g, (_, id: string) => idIn(world, id));
  return `${category}-${name}`;
};

const goldenEvent = (event: KnownEvent, world: World, number: number): GoldenEvent => {
  const { type, definition, kind } = event;
  const { sealed: _, ...made } = exampleOf(schemaOf(definition.data), type, world) as JsonObject;
  const data = dataOf[type]?.(made, world) ?? made;
  definition.data.parse(data);
  const commandId = idIn(number, 'command');
  const id = idIn(number, 'event');
  return {
    stream: streamOf(event, world),
    id,
    type,
    data: storedAs(type, id, definition.schemaVersion, data),
    metadata: {
      customerId: kind.namedAfter === '0' ? 0 : customerIn(world),
      actor: 'api-key:golden',
      requestId: commandId,
      correlationId: commandId,
      causationId: commandId,
      occurredAt: new Date(BEGIN + number * EACH_MS).toISOString(),
      schemaVersion: definition.schemaVersion,
    },
  };
};

/** As the log has it: what is of persons is sealed. */
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
 * Makes the files that are missing, and takes in schemas that only got optional members.
 * @param also types that get one more file, e.g. because what is new refers to them
 * @returns what was done
 */
export const makeGolden = (also: readonly string[]): readonly string[] => {
  const manifest: Manifest = { ...readManifest() };
  const history = goldenHistory();
  const world = 1 + history.reduce((last, { metadata }) => Math.max(last, worldOf(metadata.customerId)), 0);
  let number = history.length;
  const made: string[] = [];
  for (const event of knownEvents()) {
    const { name, type, schema, opened, fingerprint } = event;
    const before = manifest[name];
    const isChanged = before !== undefined && before.fingerprint !== fingerprint;
    if (isChanged && !isOnlyAddition(before, { schema, opened })) {
      throw new Error(
        `${name}: more has changed than optional members that were added. It needs a new version`,
      );
    }
    if (before !== undefined && !isChanged && !also.includes(type)) continue;
    const count = Object.keys(before?.files ?? {}).length;
    const file = `${versionName(type, event.definition.schemaVersion)}${count === 0 ? '' : `.${count + 1}`}.json`;
    const events = [world, world + 1].map((one) => goldenEvent(event, one, (number += 1)));
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

/** Events of the installation are of no world. */
const worldOf = (customerId: number): World => (customerId === 0 ? 0 : customerId - customerIn(0));
