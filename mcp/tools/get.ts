import { z } from 'zod';
import { invalid } from '../../shared/http/errors.ts';
import type { ToolCursors } from '../cursor.ts';
import { kindNames, kindOf, type KindName, type List } from '../kinds.ts';
import { viewedIn } from '../list-items.ts';
import { takesAsOf, type Operations } from '../operations.ts';
import { omittedMember, Page, pageArguments, pageOf, type ReadPage } from '../page.ts';
import { idArgument, placeArguments } from '../places.ts';
import { historyOf, readKind, readList, type Named } from '../read-kind.ts';
import { reads, tool, type Tool, type ToolCall } from '../tool.ts';
import { fitRow, jsonBytesOf, RESULT_BYTES_MAX, type Omitted, type Row } from '../truncate.ts';
import { viewOf } from '../view.ts';

const included = ['creatives', 'sessions', 'assets', 'sellers', 'syndication', 'history'] as const;
type Included = (typeof included)[number];

type IncludedList =
  | { readonly kind: KindName; readonly list: List }
  | 'history'
  /** Found through the object. */
  | 'assets of the creative'
  | 'sellers of the creative';

const listOf = (kind: KindName, at = 0): IncludedList => ({ kind, list: kindOf(kind).lists[at] as List });

/** What each kind can include. */
const includes: Readonly<Partial<Record<KindName, Readonly<Partial<Record<Included, IncludedList>>>>>> = {
  advertiser: {
    creatives: listOf('creative', 1),
    assets: listOf('asset'),
    sellers: listOf('seller'),
    syndication: listOf('syndication'),
    history: 'history',
  },
  campaign: {
    creatives: listOf('creative'),
    sessions: listOf('creative_session'),
    sellers: listOf('seller'),
    history: 'history',
  },
  creative: { assets: 'assets of the creative', sellers: 'sellers of the creative', history: 'history' },
};

/** Of a result that includes lists, the object takes at most this much. */
const OBJECT_BYTES_MAX = 120_000;

const needing = (place: string): string => {
  const users = kindNames.filter((kind) => kindOf(kind).needs?.some((one) => one === place));
  return users.length === 0 ? '' : `Needed for ${users.join(', ')}.`;
};

export const namedArguments = {
  kind: z.enum(kindNames as [KindName, ...KindName[]]),
  id: idArgument('Id of the object. Only the account has none.').optional(),
  ...placeArguments((place) =>
    place === 'advertiserId'
      ? `${needing(place)} For an event_source only if several advertisers have one with this id.`
      : needing(place),
  ),
};

export interface ReadTools {
  readonly operations: Operations;
  readonly cursors: ToolCursors;
}

const input = z.strictObject({
  ...namedArguments,
  include: z
    .array(z.enum(included))
    .max(included.length)
    .optional()
    .meta({
      description: `Lists to read with it. ${Object.entries(includes)
        .map(([kind, lists]) => `${kind}: ${Object.keys(lists).join(', ')}`)
        .join('; ')}.`,
    }),
  asOf: z
    .union([z.string().min(1).max(100), z.int().min(0)])
    .transform(String)
    .optional()
    .meta({ description: 'As it was then: a time (RFC 3339) or a revision of its history. Default: now.' }),
  fields: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'The members of the object to return. Default: all.' }),
  ...pageArguments,
});
type Input = z.output<typeof input>;

const output = z.object({
  kind: z.string(),
  object: z.record(z.string(), z.unknown()).meta({ description: 'The resource as the REST API shows it.' }),
  included: z.record(z.string(), z.array(z.record(z.string(), z.unknown()))).optional(),
  page: Page.optional().meta({ description: 'Page of the list, if one is included.' }),
  pages: z.record(z.string(), Page).optional().meta({
    description:
      'Page of each list, if several are included. To go on, include one list with its nextCursor as cursor.',
  }),
  truncated: z.boolean(),
  ...omittedMember,
});

export const getTool = ({ operations, cursors }: ReadTools): Tool =>
  tool({
    name: 'get',
    title: 'Read an object',
    description:
      'Reads one object by its kind and id, as it is now or was at a time (asOf), and on request the lists below it ' +
      '(include). Use search to find an id. Returns {kind, object, included?, page?}. ' +
      'Example: {"kind":"campaign","id":"cmp_…","include":["creatives"]}.',
    scope: 'exchange:read',
    annotations: reads,
    input,
    output,
    run: async (given, call) => {
      const lists = [...new Set(given.include)];
      if (given.cursor !== undefined && lists.length !== 1) {
        throw invalid('A cursor pages one included list: include only that one.', 'cursor');
      }
      const found = await readKind(operations, call.invoke, given);
      const isAlone = lists.length === 0;
      const object = shownObject(given, found);
      const head = (row: Row, omitted: Omitted) => ({
        kind: given.kind,
        object: row,
        truncated: Object.keys(omitted).length > 0,
        ...(Object.keys(omitted).length > 0 && { omitted }),
      });
      const fitted = fitRow(object, '/object', isAlone ? RESULT_BYTES_MAX : OBJECT_BYTES_MAX, (one) =>
        head(one.row, one.omitted),
      );
      const result = head(fitted.row, fitted.omitted);
      if (isAlone) return result;
      return withLists({ operations, cursors }, given, call, found, lists, result);
    },
  });

const shownObject = ({ fields }: Input, object: Row): Row =>
  fields === undefined
    ? object
    : viewOf({ view: 'full', fields }, { members: Object.keys(object), summary: [] })(object);

interface Part {
  readonly rows: readonly Row[];
  readonly page: Page;
  readonly omitted: Omitted;
}

type Head = Readonly<Record<string, unknown>> & { readonly truncated: boolean; readonly omitted?: Omitted };

/** Around the lists: their names and punctuation. */
const FRAME_BYTES = 500;

const withLists = async (
  { operations, cursors }: ReadTools,
  given: Input,
  call: ToolCall,
  object: Row,
  lists: readonly Included[],
  head: Head,
): Promise<Readonly<Record<string, unknown>>> => {
  let bytesLeft = RESULT_BYTES_MAX - jsonBytesOf(head) - FRAME_BYTES;
  const parts = new Map<Included, Part>();
  for (const [at, name] of lists.entries()) {
    const { kind, id, asOf } = given;
    const { read, shown } = listReader(operations, call, given, object, name);
    const part = await pageOf(
      {
        cursors,
        query: {
          customerId: call.caller.principal.customerId,
          tool: 'get',
          asked: { kind, id, asOf, include: name },
        },
        cursor: given.cursor,
        limit: given.limit,
        read,
        shown,
        path: `/included/${name}`,
        bytesMax: Math.floor(bytesLeft / (lists.length - at)),
      },
      (rows, page, omitted): Part => ({ rows, page, omitted }),
    );
    parts.set(name, part);
    bytesLeft -= jsonBytesOf(part);
  }
  const all = [...parts];
  const omitted = Object.assign({}, head.omitted, ...all.map(([, part]) => part.omitted)) as Omitted;
  const [only] = all;
  return {
    ...head,
    included: Object.fromEntries(all.map(([name, { rows }]) => [name, rows])),
    ...(all.length === 1 && only !== undefined
      ? { page: only[1].page }
      : { pages: Object.fromEntries(all.map(([name, { page }]) => [name, page])) }),
    truncated: head.truncated || all.some(([, { page }]) => page.truncated),
    ...(Object.keys(omitted).length > 0 && { omitted }),
  };
};

interface ListReader {
  readonly read: (position: string | undefined, limit: number) => Promise<ReadPage>;
  readonly shown: (row: Row) => Row;
}

const asItIs = (row: Row): Row => row;

const listReader = (
  operations: Operations,
  { invoke }: ToolCall,
  given: Input,
  object: Row,
  name: Included,
): ListReader => {
  const one = includes[given.kind]?.[name];
  if (one === undefined) {
    const offered = Object.keys(includes[given.kind] ?? {});
    throw invalid(
      `Kind ${given.kind} cannot include ${name}. It can include: ${offered.join(', ') || 'nothing'}.`,
      'include',
    );
  }
  if (given.asOf !== undefined) requireTime(operations, one, name, given.asOf);
  if (one === 'history') return { read: historyReader(invoke, given), shown: asItIs };
  if (one === 'sellers of the creative') {
    return { read: pageIn(object['sellerStatuses'] as readonly Row[]), shown: asItIs };
  }
  if (one === 'assets of the creative') {
    const assets = object['assets'] as readonly { readonly assetId: string }[];
    const advertiserId = String(object['advertiserId']);
    const ids = [...new Set(assets.map(({ assetId }) => assetId))].map((assetId) => ({ assetId }));
    const readRows = pageIn(ids);
    const readAsset = async ({ assetId }: Row): Promise<Row> =>
      readKind(operations, invoke, { kind: 'asset', id: String(assetId), advertiserId, asOf: given.asOf });
    return {
      read: async (position, limit) => {
        const page = await readRows(position, limit);
        return { ...page, rows: await Promise.all(page.rows.map(readAsset)) };
      },
      shown: asItIs,
    };
  }
  const { kind, list } = one;
  const places = list.of === undefined ? {} : { [list.of]: given.id };
  const asked = { list, places, query: { asOf: given.asOf } };
  return {
    read: (position, limit) => readList(operations, invoke, asked, position, limit),
    shown: viewOf({ view: 'summary' }, viewedIn(operations, kind, list)),
  };
};

/** A revision counts the changes of one object, so it says nothing of the lists below it. */
const requireTime = (operations: Operations, one: IncludedList, name: Included, asOf: string): void => {
  const hasPast =
    typeof one === 'object' ? takesAsOf(operations.of(one.list.operationId)) : one !== 'history';
  if (!hasPast) throw invalid(`${name} cannot be read as of the past. Leave asOf or it out.`, 'include');
  if (/^\d+$/.test(asOf)) throw invalid('Give a time, not a revision, to include lists.', 'asOf');
};

const pageIn =
  (all: readonly Row[]): ListReader['read'] =>
  async (position, limit) => {
    const skip = Number(position ?? 0);
    const rows = all.slice(skip, skip + limit);
    const end = skip + rows.length;
    return {
      rows,
      total: all.length,
      after: (count) => String(skip + count),
      ...(end < all.length && { next: String(end) }),
    };
  };

export const historyReader =
  (invoke: ToolCall['invoke'], named: Named): ListReader['read'] =>
  async (position, limit) => {
    const { noun, input: asked, argumentOf: _ } = historyOf(named);
    const query = { ...asked.query, take: limit, afterRevision: position };
    const { data } = await invoke(`get${noun}History`, { ...asked, query });
    const { events, nextAfterRevision } = data as {
      readonly events: readonly Row[];
      readonly nextAfterRevision?: number;
    };
    return {
      rows: events,
      after: (count) => String(events[count - 1]?.['revision']),
      ...(nextAfterRevision !== undefined && { next: String(nextAfterRevision) }),
    };
  };
