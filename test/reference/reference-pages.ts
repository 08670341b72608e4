import { apiPages } from './api-pages.ts';
import { cliPage } from './cli-page.ts';
import { errorsPage } from './errors-page.ts';
import { dashboardFiles } from './dashboards.ts';
import { eventPages } from './events-pages.ts';
import { kubernetesFiles } from './kubernetes/kubernetes-files.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';
import { metricsPage } from './metrics-page.ts';
import { settingsPages } from './settings-pages.ts';
import { toolsPage } from './tools-page.ts';

const index = (): string =>
  pageOf(
    '# Reference',
    `For developers and operators who look something up. ${GENERATED} The same holds for every page below.`,
    tableOf(
      ['page', 'what it lists'],
      [
        ['[API](api/README.md)', 'every endpoint: parameters, bodies, answers, scopes'],
        [
          '[Tools for agents](mcp-tools.md)',
          'every tool of the Model Context Protocol: what it does, its arguments',
        ],
        ['[Errors](errors.md)', 'every error code and what to do'],
        ['[Configuration](configuration.md)', 'every setting with its default'],
        ['[Command line](cli.md)', 'every command of the operator with its exit statuses'],
        ['[Metrics](metrics.md)', 'every metric with its labels'],
        ['[Events](events/README.md)', 'every event of the log, with its members and an example'],
      ],
    ),
  );

/** All generated pages, by path. */
export const referencePages = async (): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ['docs/reference/README.md', index()],
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/mcp-tools.md', toolsPage()],
    ['docs/reference/cli.md', cliPage()],
    ['docs/reference/metrics.md', await metricsPage()],
    ...settingsPages(),
    ...(await apiPages()),
    ...eventPages(),
    ...(await dashboardFiles()),
    ...kubernetesFiles(),
  ]);
