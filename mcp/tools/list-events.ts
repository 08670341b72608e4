import { z } from 'zod';
import type { ToolCursors } from '../cursor.ts';
import { jsonSchemaOf, shownAs } from '../json-schema.ts';
import { namingArguments, queryShapeOf, type Operations } from '../operations.ts';
import { omittedMember, Page, pageArguments, pageOf } from '../page.ts';
import { reads, tool, type Tool } from '../tool.ts';
import { RESULT_BYTES_MAX, type Row } from '../truncate.ts';

/** The feed seals its cursors itself; they are valid with any filters. */
const ofFeed: ToolCursors = {
  seal: async (_query, position) => position,
  open: async (_query, cursor) => cursor,
};

interface Feed {
  readonly events: readonly Row[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
}

export const listEventsTool = (operations: Operations): Tool => {
  const route = operations.of('listEvents');
  const { types, advertiserId } = queryShapeOf(route);
  if (types === undefined || advertiserId === undefined) throw new Error('the feed has other parameters');
  return tool({
    name: 'list_events',
    title: 'What happened',
    description:
      'What happened to the objects of the account, oldest first: created, updated, launched, reviewed, synced and so ' +
      'on. Poll it to follow work that takes time: keep page.nextCursor, also of an empty page, and send it as cursor ' +
      'later. Returns {events, page}. Example: {"types":["creative.*"],"limit":20}.',
    scope: 'exchange:read',
    annotations: reads,
    input: z.strictObject({
      types: z
        .array(z.string().min(1).max(100))
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'Kinds of events, e.g. creative.updated, or creative.* for all of creatives.' }),
      advertiserId: shownAs(z.union([z.string(), z.int()]).optional(), jsonSchemaOf(advertiserId, 'input')),
      ...pageArguments,
      cursor: pageArguments.cursor.meta({
        description:
          '`nextCursor` of an earlier call, with any filters. Default: from the oldest event kept.',
      }),
    }),
    output: z.object({ events: z.array(z.record(z.string(), z.unknown())), page: Page, ...omittedMember }),
    run: async (given, { invoke, caller }) => {
      let hasMore = false;
      let read = 0;
      return pageOf(
        {
          cursors: ofFeed,
          query: { customerId: caller.principal.customerId, tool: 'list_events', asked: {} },
          cursor: given.cursor,
          limit: given.limit,
          read: async (after, take) => {
            const query = { after, take, types: given.types?.join(','), advertiserId: given.advertiserId };
            const answer = await namingArguments({ after: 'cursor' }, invoke('listEvents', { query }));
            const page = answer.data as Feed;
            hasMore = page.hasMore;
            read = page.events.length;
            return { rows: page.events, next: page.nextCursor };
          },
          shown: (row) => row,
          path: '/events',
          bytesMax: RESULT_BYTES_MAX,
        },
        (events, page, omitted) => ({
          events,
          page: { ...page, hasMore: hasMore || events.length < read },
          ...(Object.keys(omitted).length > 0 && { omitted }),
        }),
      );
    },
  });
};
