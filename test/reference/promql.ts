import type { KnownMetric } from './all-metrics.ts';

/** Labels that Prometheus adds. */
const ADDED = ['le', 'instance', 'job'];

/** Words of PromQL that look like names of metrics. */
const OUTSIDE = new Set(['up']);

const baseName = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, '');

const metricOf = (name: string, known: ReadonlyMap<string, KnownMetric>): KnownMetric | undefined => {
  const base = known.get(baseName(name));
  return base?.type === 'histogram' ? base : known.get(name);
};

/** Names of the service's metrics in an expression. */
const metricNames = (expression: string): readonly string[] =>
  [...expression.matchAll(/\b(?:exchange|http_server|nodejs|process)_\w+/g)].map(([name]) => name);

/** @throws Error if the expression names a metric, or a label, that the service does not have */
export const refuseUnknownMetrics = (
  expression: string,
  metrics: readonly KnownMetric[],
): readonly KnownMetric[] => {
  const known = new Map(metrics.map((metric) => [metric.name, metric]));
  const used = metricNames(expression).map((name) => {
    const metric = metricOf(name, known);
    if (metric === undefined) throw new Error(`no such metric: ${name}, in ${expression}`);
    return metric;
  });
  if (used.length === 0 && ![...OUTSIDE].some((name) => new RegExp(`\\b${name}\\b`).test(expression))) {
    throw new Error(`no metric in ${expression}`);
  }
  const labels = new Set([...ADDED, ...used.flatMap((metric) => metric.labels)]);
  for (const label of labelsIn(expression)) {
    if (!labels.has(label)) throw new Error(`no such label: ${label}, in ${expression}`);
  }
  return used;
};

const labelsIn = (expression: string): readonly string[] => [
  ...[...expression.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  ),
  ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  ),
];
