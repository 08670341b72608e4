import { z } from 'zod';
import { jsonSchemaOf, shownAs } from '../json-schema.ts';
import { queryShapeOf } from '../operations.ts';
import { omittedMember, Page, pageArguments, pageOf } from '../page.ts';
import { reads, tool, type Tool } from '../tool.ts';
import { RESULT_BYTES_MAX, type Row } from '../truncate.ts';
import type { ReadTools } from './get.ts';

const PAGING = new Set(['take', 'skip', 'limit', 'offset']);

interface AuditPage {
  readonly logs: readonly Row[];
  readonly total: number;
  readonly nextSkip?: number;
  readonly searchedFrom?: string;
}

export const auditLogTool = ({ operations, cursors }: ReadTools): Tool => {
  const filters = Object.entries(queryShapeOf(operations.of('listAuditLogs'))).filter(
    ([name]) => !PAGING.has(name),
  );
  return tool({
    name: 'get_audit_log',
    title: 'Audit log of the account',
    description:
      'Everything that was done or refused in the account, newest first: by whom, from where (actorOrigin), on what, ' +
      'and what changed. For one object, history is shorter. Needs the scope exchange:admin. Returns {logs, page}. ' +
      'Example: {"campaignId":"cmp_…","startDate":"2026-01-01"}.',
    scope: 'exchange:admin',
    annotations: reads,
    input: z.strictObject({
      ...Object.fromEntries(
        filters.map(([name, schema]) => [
          name,
          shownAs(z.union([z.string(), z.number()]).optional(), jsonSchemaOf(schema, 'input')),
        ]),
      ),
      ...pageArguments,
    }),
    output: z.object({
      logs: z.array(z.record(z.string(), z.unknown())),
      searchedFrom: z.string().optional().meta({
        description: 'Older entries were not searched: send this time as endDate for them.',
      }),
      page: Page,
      ...omittedMember,
    }),
    run: async ({ limit, cursor, ...asked }, { invoke, caller }) => {
      let searchedFrom: string | undefined;
      return pageOf(
        {
          cursors,
          query: { customerId: caller.principal.customerId, tool: 'get_audit_log', asked },
          cursor,
          limit,
          read: async (position, take) => {
            const skip = Number(position ?? 0);
            const query = { ...(asked as Record<string, string>), take, skip };
            const { data } = await invoke('listAuditLogs', { query });
            const { logs, total, nextSkip } = data as AuditPage;
            ({ searchedFrom } = data as AuditPage);
            return {
              rows: logs,
              total,
              after: (count) => String(skip + count),
              ...(nextSkip !== undefined && { next: String(nextSkip) }),
            };
          },
          shown: (row) => row,
          path: '/logs',
          bytesMax: RESULT_BYTES_MAX,
        },
        (logs, page, omitted) => ({
          logs,
          ...(searchedFrom !== undefined && { searchedFrom }),
          page,
          ...(Object.keys(omitted).length > 0 && { omitted }),
        }),
      );
    },
  });
};
