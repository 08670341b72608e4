import { z } from 'zod';
import { Change, changesBetween } from '../../domain/history/change-resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { queryOffset, takeParameter } from '../../shared/http/schemas.ts';
import type { RequestParams, AuditedKind, Place } from '../resources/audited-kind.ts';
import { HistoryEvent, historyEvent, SetBy, setByResource } from './event-resource.ts';
import { expectReached, findHistory, notThere, type HistoryReads } from './find-history.ts';
import type { FoldResult } from './fold.ts';
import { pointInTime } from './point-in-time.ts';
import type { EventFacts } from './stream-history.ts';

const TAKE_MAX = 200;

export const historyRoutes = (reads: HistoryReads, kinds: readonly AuditedKind[]): readonly Route[] =>
  kinds.flatMap((kind) =>
    kind.place === undefined
      ? []
      : [
          historyRoute(reads, kind, kind.place),
          diffRoute(reads, kind, kind.place),
          explainRoute(reads, kind, kind.place),
        ],
  );

/** E.g. `ApiKey` for `API key`. */
const capitalized = (noun: string): string =>
  noun
    .split(' ')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join('');

const shared = (kind: AuditedKind, { path, params, tag, access = 'exchange:read' }: Place, what: string) =>
  ({ method: 'get', path: `${path}/${what}`, tag, access, params, noun: capitalized(kind.noun) }) as const;

const HistoryPageResource = z
  .strictObject({
    events: z.array(HistoryEvent),
    nextAfterRevision: z.int().optional().meta({
      description:
        '`afterRevision` of the next page; a page of large events ends early. Absent at the present end.',
    }),
  })
  .meta({ id: 'History' });

const historyRoute = (reads: HistoryReads, kind: AuditedKind, place: Place): Route => {
  const { noun, ...rest } = shared(kind, place, 'history');
  return route({
    ...rest,
    operationId: `get${noun}History`,
    summary: `The changes of the ${kind.noun}, oldest first, with actor and time`,
    query: z.object({
      ...place.query?.shape,
      afterRevision: queryOffset('Events of the history'),
      take: takeParameter(TAKE_MAX),
    }),
    responses: { 200: { description: 'One page', data: HistoryPageResource } },
    handle: async ({ params, query, request }) => {
      const { customerId } = request.principal;
      const history = reads.historyFor(request);
      const found = await findHistory(history, kind, place, customerId, askedOf(params, query));
      const { afterRevision = 0, take } = query;
      if (afterRevision >= found.latest.revision) return { status: 200, data: { events: [] } };
      const { events, next } = await history.page(kind, found, afterRevision, take);
      const users = await reads.usersOf(customerId, actorsOf(events.map(({ event }) => event)));
      const data = {
        events: events.map((change) => historyEvent(change, users)),
        ...(next === undefined ? {} : { nextAfterRevision: next }),
      };
      return { status: 200, data };
    },
  });
};

const Point = z.strictObject({
  revision: z.int().min(0).meta({ description: '0: before the first event.' }),
  timestamp: z.iso.datetime({ precision: 3 }).optional().meta({ description: 'Time of its last event.' }),
});

const Difference = z
  .strictObject({ from: Point, to: Point, changes: z.array(Change) })
  .meta({ id: 'Difference' });

const pointResource = ({ revision, at }: FoldResult<unknown>): z.infer<typeof Point> =>
  revision === 0 ? { revision } : { revision, timestamp: at };

const diffRoute = (reads: HistoryReads, kind: AuditedKind, place: Place): Route => {
  const { noun, ...rest } = shared(kind, place, 'diff');
  return route({
    ...rest,
    operationId: `get${noun}Difference`,
    summary: `The differences of the ${kind.noun} between two points of its history`,
    query: z.object({
      ...place.query?.shape,
      from: pointInTime('A revision, 0 for before the first, or a time.'),
      to: pointInTime('A revision, or a time. Default: now.').optional(),
    }),
    responses: { 200: { description: 'The members that changed', data: Difference } },
    handle: async ({ params, query, request }) => {
      const { customerId } = request.principal;
      const history = reads.historyFor(request);
      const { stream, part, latest } = await findHistory(
        history,
        kind,
        place,
        customerId,
        askedOf(params, query),
      );
      expectReached(kind, latest, query.from, 'from');
      if (query.to !== undefined) expectReached(kind, latest, query.to, 'to');
      const from = await history.stateAt(kind, stream, query.from);
      const to = query.to === undefined ? latest : await history.stateAt(kind, stream, query.to);
      const changes = changesBetween(kind.audited(from.state, part), kind.audited(to.state, part));
      return { status: 200, data: { from: pointResource(from), to: pointResource(to), changes } };
    },
  });
};

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;

const Explanation = z
  .strictObject({
    revision: z.int().min(1).meta({ description: 'Revision of the explained state.' }),
    members: z.array(
      z.strictObject({
        path: z.string().meta({ description: 'JSON Pointer of the member (RFC 6901), e.g. `/name`.' }),
        value: z.unknown(),
        setBy: SetBy,
      }),
    ),
  })
  .meta({ id: 'Explanation' });

const explainRoute = (reads: HistoryReads, kind: AuditedKind, place: Place): Route => {
  const { noun, ...rest } = shared(kind, place, 'explain');
  return route({
    ...rest,
    operationId: `explain${noun}`,
    // The account's path has no parameter.
    alsoRefuses: ['NOT_FOUND'],
    summary: `For each member of the ${kind.noun}, the event that set its value`,
    query: z.object({
      ...place.query?.shape,
      asOf: pointInTime('The point to explain: a revision, or a time. Default: now.').optional(),
      path: boundedText(1, 1_000).regex(POINTER, 'must be a JSON Pointer, e.g. /name').optional().meta({
        description: 'JSON Pointer of one member, e.g. `/name`: explains only it and the members below.',
      }),
    }),
    responses: { 200: { description: 'Every member with its event', data: Explanation } },
    handle: async ({ params, query, request }) => {
      const { customerId } = request.principal;
      const { asOf, path } = query;
      const history = reads.historyFor(request);
      const found = await findHistory(history, kind, place, customerId, askedOf(params, query));
      if (asOf !== undefined) expectReached(kind, found.latest, asOf, 'asOf');
      const until = asOf ?? ({ revision: 'last' } as const);
      const { state, revision } = await history.explain(kind, found, until);
      if (state.size === 0) throw notThere(kind, asOf ?? { revision }, 'asOf');
      const asked = [...state].filter(
        ([member]) => path === undefined || member === path || member.startsWith(`${path}/`),
      );
      const users = await reads.usersOf(customerId, actorsOf(asked.map(([, { by }]) => by)));
      const members = asked.map(([member, { value, by }]) => ({
        path: member,
        value,
        setBy: setByResource(by, users),
      }));
      return { status: 200, data: { revision, members } };
    },
  });
};

const actorsOf = (events: readonly EventFacts[]): readonly string[] =>
  events.map(({ metadata }) => metadata.actor);

const askedOf = (params: object, query: object): RequestParams => ({ ...params, ...query });
