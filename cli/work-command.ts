import { showWork } from '../shared/work-list/show-work.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { printList, relativeTime } from './print-table.ts';

/** Bounds the output, because a backlog may be long. */
const SHOWN_MAX = 1_000;

export const addWorkCommand = (program: OperatorCommand, tools: Tools): void => {
  program
    .command('work')
    .description('What workers are to do.')
    .command('list')
    .description(
      `Lists what is due first, ${SHOWN_MAX} entries at most: when, how often it was tried, why it failed last.`,
    )
    .argument('[KIND]', 'for example syndication, submission, catalog-feed, agent-check, mail')
    .example('', 'syndication')
    .action(async (kind: string | undefined) => {
      const { pool } = await tools.installation();
      await printList(tools, await showWork(pool, kind, SHOWN_MAX), {
        head: ['kind', 'account', 'key', 'due', 'failed tries', 'lost jobs', 'last error'],
        cells: ({ kind: of, customerId, key, dueAt, leasedUntil, attempts, lost, lastError }) => [
          of,
          String(customerId),
          key,
          leasedUntil !== null ? 'in work' : dueAt === null ? 'on request' : relativeTime(dueAt),
          String(attempts),
          String(lost),
          lastError ?? '-',
        ],
        empty: kind === undefined ? 'The work list is empty.' : `No work of the kind ${kind} is listed.`,
      });
    });
};
