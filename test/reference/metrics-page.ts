import { nodeMetrics, ownMetrics } from './all-metrics.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';

export const metricsPage = async (): Promise<string> => {
  const sections = (await ownMetrics()).flatMap(({ heading, about, metrics }) => [
    `## ${heading}`,
    about,
    tableOf(
      ['metric', 'type', 'labels', 'meaning'],
      metrics.map(({ name, type, labels, help }) => [
        `\`${name}\``,
        type,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    ),
  ]);
  return pageOf(
    '# Metrics',
    `Every metric that \`GET /metrics\` of the [listener for operators](../operate/listener.md) shows, in the Prometheus text format. ${GENERATED}`,
    'Names begin with `exchange_`, except those of OpenTelemetry (`http_server_`) and of the process. Names that end in `_total` ' +
      'count from the start of the process.',
    ...sections,
    '## Node.js',
    `Standard metrics of prom-client: ${nodeMetrics()
      .map(({ name }) => `\`${name}\``)
      .join(', ')}.`,
  );
};
