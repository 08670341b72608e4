import { z } from 'zod';
import { dataOf, memberOf, namingArguments } from '../operations.ts';
import { omittedMember, Page, pageArguments, pageOf, type ReadPage } from '../page.ts';
import { historyOf, type Named } from '../read-kind.ts';
import { reads, tool, type Tool, type ToolCall, type ToolResult } from '../tool.ts';
import { RESULT_BYTES_MAX, type Row } from '../truncate.ts';
import { historyReader, namedArguments, type ReadTools } from './get.ts';
import { kindNames, kindOf, type KindName } from '../kinds.ts';

const withHistory = kindNames.filter((kind) => kindOf(kind).history !== undefined);
const ofHistory = {
  ...namedArguments,
  kind: z.enum(withHistory as [KindName, ...KindName[]]),
  ...pageArguments,
};

const pointArgument = (description: string) =>
  z
    .union([z.int().min(0), z.string().min(1).max(100)])
    .transform(String)
    .meta({ description });

type PagedInput = Named & { readonly limit: number; readonly cursor?: string | undefined };

interface PagedRows {
  readonly tool: string;
  /** Of the result, and of the answer of the route. */
  readonly member: string;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly read: (position: string | undefined, limit: number) => Promise<ReadPage>;
  /** Other members of the result. Called after `read`. */
  readonly others?: () => ToolResult;
}

const pageOfHistory = async (
  { cursors }: ReadTools,
  { kind, id, limit, cursor }: PagedInput,
  { caller }: ToolCall,
  { tool: name, member, asked, read, others = () => ({}) }: PagedRows,
): Promise<ToolResult> =>
  pageOf(
    {
      cursors,
      query: { customerId: caller.principal.customerId, tool: name, asked },
      cursor,
      limit,
      read,
      shown: (row) => row,
      path: `/${member}`,
      bytesMax: RESULT_BYTES_MAX,
    },
    (rows, page, omitted) => ({
      kind,
      ...(id !== undefined && { id }),
      ...others(),
      [member]: rows,
      page,
      ...(Object.keys(omitted).length > 0 && { omitted }),
    }),
  );

const queryOf = ({ limit: _limit, cursor: _cursor, ...asked }: PagedInput): Record<string, unknown> => asked;

const about = { kind: z.string(), id: z.string().optional() };

export const historyTool = (services: ReadTools): Tool => {
  const events = memberOf(dataOf(services.operations.of('getCampaignHistory')), 'events');
  return tool({
    name: 'history',
    title: 'Changes of an object',
    description:
      'Every change of one object, oldest first: when, by whom (user, API key, worker or agent), by which request, and ' +
      'which members changed from what to what. Returns {events, page}. For a single question such as "who set this ' +
      'budget?" use explain. Example: {"kind":"campaign","id":"cmp_…"}.',
    scope: 'exchange:read',
    annotations: reads,
    input: z.strictObject(ofHistory),
    output: z.object({ ...about, events: rowsOf(events), page: Page, ...omittedMember }),
    run: async (given, call) => {
      const { argumentOf } = historyOf(given);
      const readPage = historyReader(call.invoke, given);
      return pageOfHistory(services, given, call, {
        tool: 'history',
        member: 'events',
        asked: queryOf(given),
        read: (position, limit) => namingArguments(argumentOf, readPage(position, limit)),
      });
    },
  });
};

/** A row that is too large loses members, so none of them is required. */
const rowsOf = (rows: z.ZodType): z.ZodType => {
  if (!(rows instanceof z.ZodArray) || !(rows.element instanceof z.ZodObject)) {
    throw new Error('rows of a history are objects');
  }
  return z.array(rows.element.partial());
};

const skipping = (rows: readonly Row[], revision: string, position: string | undefined, limit: number) => {
  const skip = Number(position?.split('|')[1] ?? 0);
  const end = skip + Math.min(limit, Math.max(0, rows.length - skip));
  const at = (index: number): string => `${revision}|${index}`;
  return {
    rows: rows.slice(skip, end),
    total: rows.length,
    after: (count: number) => at(skip + count),
    ...(end < rows.length && { next: at(end) }),
  };
};

interface Difference {
  readonly from: { readonly revision: number };
  readonly to: { readonly revision: number };
  readonly changes: readonly Row[];
}

export const diffTool = (services: ReadTools): Tool => {
  const data = dataOf(services.operations.of('getCampaignDifference'));
  const input = z.strictObject({
    ...ofHistory,
    from: pointArgument('A revision, 0 for before the first, or a time (RFC 3339).'),
    to: pointArgument('A revision or a time. Default: now.').optional(),
  });
  return tool({
    name: 'diff',
    title: 'Differences between two points in time',
    description:
      'What changed of one object between two points of its history: revisions or times. Returns {from, to, changes}, ' +
      'each change with its path, the old and the new value. ' +
      'Example: {"kind":"campaign","id":"cmp_…","from":"2026-01-01T00:00:00Z"}.',
    scope: 'exchange:read',
    annotations: reads,
    input,
    output: z.object({
      ...about,
      from: memberOf(data, 'from'),
      to: memberOf(data, 'to'),
      changes: rowsOf(memberOf(data, 'changes')),
      page: Page,
      ...omittedMember,
    }),
    run: async (given, call) => {
      const { noun, input: place, argumentOf } = historyOf(given);
      let found: Difference | undefined;
      return pageOfHistory(services, given, call, {
        tool: 'diff',
        member: 'changes',
        asked: queryOf(given),
        others: () => ({ from: found?.from, to: found?.to }),
        read: async (position, limit) => {
          // The next page is of the same two revisions, also after further changes.
          const [from = given.from, to = given.to] = position?.split('|')[0]?.split('-') ?? [];
          const query = { ...place.query, from, to };
          const asked = call.invoke(`get${noun}Difference`, { ...place, query });
          found = (await namingArguments(argumentOf, asked)).data as Difference;
          const revisions = `${found.from.revision}-${found.to.revision}`;
          return skipping(found.changes, revisions, position, limit);
        },
      });
    },
  });
};

interface Explanation {
  readonly revision: number;
  readonly members: readonly Row[];
}

export const explainTool = (services: ReadTools): Tool => {
  const data = dataOf(services.operations.of('explainCampaign'));
  const input = z.strictObject({
    ...ofHistory,
    path: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ description: 'JSON Pointer of one member, e.g. /budget: explains it and what is below it.' }),
    asOf: pointArgument('Explain the state at this revision or time. Default: now.').optional(),
  });
  return tool({
    name: 'explain',
    title: 'Who set a value, and when',
    description:
      'For each member of one object: its value, and the event that set it, with the time, the user or worker and the ' +
      'request. Answers "who changed this budget, and why". Returns {revision, members: [{path, value, setBy}]}. ' +
      'Example: {"kind":"campaign","id":"cmp_…","path":"/budget"}.',
    scope: 'exchange:read',
    annotations: reads,
    input,
    output: z.object({
      ...about,
      revision: memberOf(data, 'revision'),
      members: rowsOf(memberOf(data, 'members')),
      page: Page,
      ...omittedMember,
    }),
    run: async (given, call) => {
      const { noun, input: place, argumentOf } = historyOf(given);
      let found: Explanation | undefined;
      return pageOfHistory(services, given, call, {
        tool: 'explain',
        member: 'members',
        asked: queryOf(given),
        others: () => ({ revision: found?.revision }),
        read: async (position, limit) => {
          const [asOf = given.asOf] = position?.split('|') ?? [];
          const query = { ...place.query, path: given.path, asOf };
          const asked = call.invoke(`explain${noun}`, { ...place, query });
          found = (await namingArguments(argumentOf, asked)).data as Explanation;
          return skipping(found.members, String(found.revision), position, limit);
        },
      });
    },
  });
};
