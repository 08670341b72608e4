import { z } from 'zod';
import { AuditLog, who } from '../../domain/history/audit-log-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import { behind } from '../resources/behind.ts';
import { CAUSED_MAX, findCaused, type AuditRow, type EventRow } from './audit-entries.ts';
import { entriesOf, type AuditReads } from './audit-routes.ts';

const Command = z
  .strictObject({
    commandId: z.string().meta({ description: 'What its events have in common as `causationId`.' }),
    causedBy: z.string().nullable().meta({
      description: '`commandId` of what it followed from; null: it is what was asked for.',
    }),
    ...who,
    requestId: z.string(),
    events: z.array(AuditLog),
  })
  .meta({ id: 'CausedCommand' });

const CausedByRequest = z
  .strictObject({
    requestId: z.string(),
    commands: z.array(Command).meta({ description: 'In the order in which they happened.' }),
    refused: z.array(AuditLog),
    truncated: z.boolean().meta({ description: `There are more than ${CAUSED_MAX} events: the first ones.` }),
  })
  .meta({ id: 'CausedByRequest' });

/** All that a request has led to, and what led to what. */
export const requestRoute = (reads: AuditReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/requests/{requestId}',
    operationId: 'getRequest',
    summary: 'What a request has led to: its changes, and those that followed from them',
    tag: 'Audit log',
    access: 'exchange:admin',
    params: z.object({
      requestId: boundedText(1, 128).meta({ description: '`X-Request-Id` of its answer.' }),
    }),
    responses: { 200: { description: 'What followed from it', data: CausedByRequest } },
    handle: async ({ params: { requestId }, request }) => {
      const { customerId } = request.principal;
      const found = await findCaused(reads, customerId, requestId).catch(behind);
      if (found.length === 0) throw notFound('request that changed anything');
      const events = found.filter((row) => row.kind === 'event');
      const rows = [...events.slice(0, CAUSED_MAX), ...found.filter(({ kind }) => kind === 'attempt')];
      const entries = await entriesOf(reads, customerId, rows);
      const truncated = events.length > CAUSED_MAX;
      return { status: 200, data: { requestId, ...causesOf(rows, entries), truncated } };
    },
  });

type Causes = Pick<z.infer<typeof CausedByRequest>, 'commands' | 'refused'>;

/** @param entries of the rows, in their order */
const causesOf = (rows: readonly AuditRow[], entries: readonly AuditLog[]): Causes => {
  const commands = new Map<string, Causes['commands'][number]>();
  const refused: AuditLog[] = [];
  /** The last command of each stream so far. */
  const last = new Map<string, string>();
  for (const [n, row] of rows.entries()) {
    const entry = entries[n];
    if (entry === undefined) continue;
    if (row.kind === 'attempt') {
      refused.push(entry);
      continue;
    }
    const command = commands.get(row.causationId) ?? { ...commandOf(row, entry, last), events: [] };
    commands.set(row.causationId, { ...command, events: [...command.events, entry] });
    last.set(row.stream, row.causationId);
  }
  return { commands: [...commands.values()], refused };
};

/**
 * What the service does by itself follows from what happened to the same thing before; where nothing of it did, from the
 * first that was asked for.
 */
const commandOf = (
  { stream, causationId, requestId, correlationId }: EventRow,
  { actorOrigin, actor, userId }: AuditLog,
  last: ReadonlyMap<string, string>,
): Omit<Causes['commands'][number], 'events'> => {
  const isAsked = requestId === correlationId;
  const [first] = last.values();
  return {
    commandId: causationId,
    causedBy: isAsked ? null : (last.get(stream) ?? first ?? null),
    actorOrigin,
    actor,
    ...(userId === undefined ? {} : { userId }),
    requestId,
  };
};
