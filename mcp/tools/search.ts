import { z } from 'zod';
import { invalid } from '../../shared/http/errors.ts';
import type { RouteInput } from '../../shared/http/invoke-route.ts';
import { jsonSchemaOf, shownAs } from '../json-schema.ts';
import { kindNames, kindOf, type KindName, type List } from '../kinds.ts';
import { viewedIn } from '../list-items.ts';
import { namingArguments, queryShapeOf, takesAsOf, type Operations } from '../operations.ts';
import { omittedMember, Page, pageArguments, pageOf } from '../page.ts';
import { placeArguments, type PlaceArgument, type Places } from '../places.ts';
import { readList } from '../read-kind.ts';
import { reads, tool, type Tool } from '../tool.ts';
import { RESULT_BYTES_MAX } from '../truncate.ts';
import { viewArguments, viewOf } from '../view.ts';
import type { ReadTools } from './get.ts';

const searchable = kindNames.filter((kind) => kindOf(kind).lists.length > 0);

const PAGING = new Set([
  'take',
  'skip',
  'limit',
  'offset',
  'cursor',
  'asOf',
  'accountsOffset',
  'mappingsOffset',
]);

/** A parameter of a list that is also the place of the list. */
const isPlace = (list: List, parameter: string): boolean => list.of === parameter;

const filtersOf = (operations: Operations, list: List): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    Object.entries(queryShapeOf(operations.of(list.operationId))).filter(
      ([name]) => !PAGING.has(name) && !isPlace(list, name),
    ),
  );

/** The filters of all lists, with the JSON Schemas that their routes have. */
const filterArguments = (operations: Operations): Record<string, z.ZodType> => {
  const schemas = new Map<string, Map<string, KindName[]>>();
  for (const kind of searchable) {
    for (const list of kindOf(kind).lists) {
      for (const [name, schema] of Object.entries(filtersOf(operations, list))) {
        const text = JSON.stringify(jsonSchemaOf(schema, 'input'));
        const ofName = schemas.get(name) ?? new Map<string, KindName[]>();
        ofName.set(text, [...(ofName.get(text) ?? []), kind]);
        schemas.set(name, ofName);
      }
    }
  }
  return Object.fromEntries(
    [...schemas].map(([name, forms]) => {
      const variants = [...forms].map(([text, kinds]) => {
        const { description, ...schema } = JSON.parse(text) as { readonly description?: string };
        const ofKinds = `Kinds: ${[...new Set(kinds)].join(', ')}.`;
        return { ...schema, description: description === undefined ? ofKinds : `${description} ${ofKinds}` };
      });
      const [only] = variants;
      const description = variants.map((variant) => variant.description).join(' ');
      const shown = variants.length === 1 ? only : { description, anyOf: variants };
      return [name, shownAs(z.union([z.string(), z.number(), z.boolean()]).optional(), shown ?? {})];
    }),
  );
};

const listedIn = (place: PlaceArgument): string => {
  const kinds = searchable.filter((kind) => kindOf(kind).lists.some(({ of }) => of === place));
  return kinds.length === 0 ? '' : `Lists of ${kinds.join(', ')} belong to one.`;
};

/** The list of a kind that belongs to the place that is given. @throws ApiError VALIDATION_ERROR */
const listFor = (kind: KindName, places: Places): List => {
  const { lists } = kindOf(kind);
  const list = lists.find(({ of }) => of === undefined || places[of] !== undefined);
  if (list !== undefined) return list;
  const needed = lists.map(({ of }) => `filters.${of}`);
  throw invalid(`${needed.join(' or ')} is needed to list kind ${kind}.`, needed[0] ?? 'filters');
};

export const searchTool = ({ operations, cursors }: ReadTools): Tool => {
  for (const kind of searchable) {
    for (const list of kindOf(kind).lists) viewedIn(operations, kind, list);
  }
  const filters = z.strictObject({ ...filterArguments(operations), ...placeArguments(listedIn) });
  return tool({
    name: 'search',
    title: 'Find objects',
    description:
      'Lists the objects of one kind, filtered and in pages: newest first unless the kind says otherwise. Use it to ' +
      'find ids, then get for one object. Returns {objects: {results: […]}, page}; rows are summaries unless view is ' +
      '"full" or fields are named. Example: {"kind":"campaign","filters":{"advertiserId":12,"phase":"active"}}.',
    scope: 'exchange:read',
    annotations: reads,
    input: z.strictObject({
      kind: z.enum(searchable as [KindName, ...KindName[]]),
      filters: filters.default({}),
      asOf: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'The list as it was at this time (RFC 3339). Default: now.' }),
      ...viewArguments,
      ...pageArguments,
    }),
    output: z.object({
      kind: z.string(),
      objects: z.object({ results: z.array(z.record(z.string(), z.unknown())) }),
      page: Page,
      ...omittedMember,
    }),
    run: async ({ kind, filters: given, asOf, view, fields, limit, cursor }, { invoke, caller }) => {
      const list = listFor(kind, given);
      if (asOf !== undefined && !takesAsOf(operations.of(list.operationId))) {
        throw invalid(`The past of a list of kind ${kind} is not known. Leave asOf out.`, 'asOf');
      }
      const query = { ...queryFrom(kind, given, Object.keys(filtersOf(operations, list)), list), asOf };
      const asked = { list, places: given as Places, query };
      const shown = viewOf({ view, fields }, viewedIn(operations, kind, list));
      return pageOf(
        {
          cursors,
          query: {
            customerId: caller.principal.customerId,
            tool: 'search',
            asked: { kind, filters: given, asOf },
          },
          cursor,
          limit,
          read: (position, rows) =>
            namingArguments(fieldsIn(query), readList(operations, invoke, asked, position, rows)),
          shown,
          path: '/objects/results',
          bytesMax: RESULT_BYTES_MAX,
        },
        (results, page, omitted) => ({
          kind,
          objects: { results },
          page,
          ...(Object.keys(omitted).length > 0 && { omitted }),
        }),
      );
    },
  });
};

type Filters = Readonly<Record<string, unknown>>;

const queryFrom = (
  kind: KindName,
  given: Filters,
  names: readonly string[],
  { of }: List,
): NonNullable<RouteInput['query']> => {
  const known = of === undefined ? names : [...names, of];
  const unknown = Object.keys(given).find((name) => given[name] !== undefined && !known.includes(name));
  if (unknown !== undefined) {
    throw invalid(
      `A list of kind ${kind} has no filter ${unknown}. Filters: ${known.join(', ') || 'none'}.`,
      `filters.${unknown}`,
    );
  }
  return Object.fromEntries(names.map((name) => [name, given[name] as string | undefined]));
};

const fieldsIn = (query: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(query).flatMap((name) => (name === 'asOf' ? [] : [[name, `filters.${name}`]])),
  );
