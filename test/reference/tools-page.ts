import { Registry } from 'prom-client';
import { pino } from 'pino';
import { apiRoutes, type ApiDependencies } from '../../app/api.ts';
import { readConfig } from '../../app/config.ts';
import { allTools } from '../../mcp/all-tools.ts';
import { listedTool, type ListedTool } from '../../mcp/listed-tool.ts';
import { operationsOf } from '../../mcp/operations.ts';
import { auditedKinds } from '../../query/history/all-kinds.ts';
import type { Route } from '../../shared/http/route.ts';
import type { JsonSchema } from '../golden/example-data.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';
import { memberRows } from './schema-text.ts';

const unused = (): never => {
  throw new Error('the page only describes tools');
};

/** Only the definitions of the routes are needed: nothing is connected to. */
const readTools = (): readonly { readonly scope: string; readonly listed: ListedTool }[] => {
  const pool = { on: unused, query: unused };
  const reads = { database: {}, progress: {}, baseUrl: unused };
  const dependencies = {
    ...reads,
    config: readConfig({ DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: '0' }),
    pool: { ...pool, on: () => undefined },
    requestPool: { ...pool, on: () => undefined },
    kinds: auditedKinds(reads as unknown as Parameters<typeof auditedKinds>[0]),
    keys: unused,
    rateLimits: { limiter: unused },
    registry: new Registry(),
    log: pino({ level: 'silent' }),
  };
  const routes = apiRoutes(dependencies as unknown as ApiDependencies);
  const called = routes.filter((one): one is Route => 'handle' in one);
  const cursors = { seal: unused, open: unused };
  const confirmations = { offer: unused, use: unused, isUsedBy: unused };
  return allTools({ version: '', operations: operationsOf(called), cursors, confirmations }).map((tool) => ({
    scope: tool.scope,
    listed: listedTool(tool),
  }));
};

const membersTable = (label: string, rows: ReturnType<typeof memberRows>): readonly string[] =>
  rows.length === 0
    ? []
    : [
        tableOf(
          [label, 'type', 'limits and meaning'],
          rows.map(({ path, type, limits, isOptional, description }) => [
            `\`${path}\`${isOptional ? ' (optional)' : ''}`,
            type,
            [limits, description].filter((text) => text !== '').join('. '),
          ]),
        ),
      ];

const hintsOf = ({ annotations }: ListedTool): string => {
  if (annotations?.readOnlyHint === true) return 'reads only';
  return annotations?.destructiveHint === true ? 'deletes' : 'changes';
};

const sectionOf = ({ scope, listed }: ReturnType<typeof readTools>[number]): readonly string[] => [
  `## ${listed.name}`,
  `${listed.title}: ${hintsOf(listed)}. Scope \`${scope}\`.`,
  listed.description ?? '',
  ...membersTable('argument', memberRows(listed.inputSchema as JsonSchema)),
];

export const toolsPage = (): string =>
  pageOf(
    '# Tools for agents',
    `What agents can call over the Model Context Protocol at \`/mcp\`, in the order of \`tools/list\`. ${GENERATED} ` +
      'Tools call the routes of the [API](api/README.md), a tool that changes something exactly one. The answer is in ' +
      '`structuredContent`; a refusal has `isError`, ' +
      'and a `code` of the [errors](errors.md), the wrong argument in `field`, and `recovery`: `transient`, `correctable` ' +
      'or `terminal`. A result has at most 200,000 bytes: rows that are left out are on the next page.',
    ...readTools().flatMap(sectionOf),
  );
