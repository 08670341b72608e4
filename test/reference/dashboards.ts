import { nodeMetrics, ownMetrics, type KnownMetric } from './all-metrics.ts';
import { refuseUnknownMetrics } from './promql.ts';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  /** A unit of Grafana. */
  readonly unit: string;
  readonly queries: readonly Query[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const OF_JOB = '{job="$job"}';
const REQUESTS = 'http_server_request_duration_seconds';

/** Counters restart with a process, so only their rates are shown. */
const rate = (metric: string, by: string, more = ''): string =>
  `sum by (${by}) (rate(${metric}{job="$job"${more}}[$__rate_interval]))`;

const perSecond = (title: string, metric: string, by: string): Panel => ({
  title,
  unit: 'cps',
  queries: [{ expr: rate(metric, by), legend: `{{${by}}}` }],
});

const highest = (title: string, unit: string, metric: string, by: string): Panel => ({
  title,
  unit,
  queries: [{ expr: `max by (${by}) (${metric}${OF_JOB})`, legend: `{{${by}}}` }],
});

const quantile = (q: number): Query => ({
  expr: `histogram_quantile(${q}, ${rate(`${REQUESTS}_bucket`, 'le')})`,
  legend: `p${q * 100}`,
});

const requests: Dashboard = {
  uid: 'exchange-requests',
  title: 'Buyer Exchange: requests',
  rows: [
    {
      title: 'Requests',
      panels: [
        perSecond('Requests by status', `${REQUESTS}_count`, 'http_response_status_code'),
        {
          title: 'Part of requests that failed (5xx)',
          unit: 'percentunit',
          queries: [
            {
              expr: `${rate(`${REQUESTS}_count`, 'job', ', http_response_status_code=~"5.."')} / ${rate(`${REQUESTS}_count`, 'job')}`,
              legend: 'failed',
            },
          ],
        },
        { title: 'Time of requests', unit: 's', queries: [0.5, 0.95, 0.99].map(quantile) },
        {
          title: 'Slowest routes (p99)',
          unit: 's',
          queries: [
            {
              expr: `topk(10, histogram_quantile(0.99, ${rate(`${REQUESTS}_bucket`, 'http_route, le')}))`,
              legend: '{{http_route}}',
            },
          ],
        },
        perSecond('Requests by route', `${REQUESTS}_count`, 'http_route'),
        perSecond('Answers of reads, by where they came from', 'exchange_read_answers_total', 'from'),
      ],
    },
    {
      title: 'Limits and streams',
      panels: [
        {
          title: 'Requests over a limit (429), by route',
          unit: 'cps',
          queries: [
            {
              expr: rate(`${REQUESTS}_count`, 'http_route', ', http_response_status_code="429"'),
              legend: '{{http_route}}',
            },
          ],
        },
        perSecond(
          'Requests that one process counted alone',
          'exchange_rate_limit_fallbacks_total',
          'instance',
        ),
        perSecond(
          'Refused requests missing from the audit log',
          'exchange_audit_attempts_dropped_total',
          'instance',
        ),
        highest('Open realtime streams', 'short', 'exchange_realtime_streams', 'instance'),
      ],
    },
  ],
};

const readModels: Dashboard = {
  uid: 'exchange-read-models',
  title: 'Buyer Exchange: log, read models, work',
  rows: [
    {
      title: 'Read models',
      panels: [
        highest('Lag (events in Postgres)', 'short', 'exchange_projection_lag_events', 'projection'),
        highest('Lag (EventStoreDB)', 'bytes', 'exchange_projection_lag_bytes', 'projection'),
        highest('Parked streams', 'short', 'exchange_projection_parked_streams', 'projection'),
        perSecond('Events applied', 'exchange_projection_events_applied_total', 'projection'),
      ],
    },
    {
      title: 'Work and jobs',
      panels: [
        highest('Entries that are due', 'short', 'exchange_work_due', 'kind'),
        highest('Oldest due entry', 's', 'exchange_work_oldest_due_seconds', 'kind'),
        highest('Entries that failed and will be tried again', 'short', 'exchange_work_failing', 'kind'),
        highest('Jobs that wait', 'short', 'exchange_jobs_waiting', 'queue'),
        perSecond('Jobs by outcome', 'exchange_jobs_total', 'outcome'),
        perSecond('Attempts to deliver webhooks', 'exchange_webhook_attempts_total', 'outcome'),
        highest('Webhook deliveries that are due', 'short', 'exchange_webhook_deliveries_due', 'job'),
      ],
    },
    {
      title: 'Log',
      panels: [
        highest('Age of the last seal', 's', 'exchange_log_seal_age_seconds', 'instance'),
        perSecond('Refused seals', 'exchange_log_seals_refused_total', 'reason'),
        highest(
          'EventStoreDB: appends without an answer',
          'short',
          'exchange_eventstoredb_appends_pending',
          'instance',
        ),
        perSecond(
          'EventStoreDB: clients replaced',
          'exchange_eventstoredb_clients_replaced_total',
          'instance',
        ),
        perSecond(
          'EventStoreDB: subscriptions lost',
          'exchange_eventstoredb_subscriptions_lost_total',
          'instance',
        ),
      ],
    },
  ],
};

const processes: Dashboard = {
  uid: 'exchange-processes',
  title: 'Buyer Exchange: processes',
  rows: [
    {
      title: 'Processes',
      panels: [
        {
          title: 'Processes that answer',
          unit: 'short',
          queries: [{ expr: `up${OF_JOB}`, legend: '{{instance}}' }],
        },
        perSecond('Processor time', 'process_cpu_seconds_total', 'instance'),
        highest('Memory', 'bytes', 'process_resident_memory_bytes', 'instance'),
        highest('Heap in use', 'bytes', 'nodejs_heap_size_used_bytes', 'instance'),
        highest('Event-loop delay, p99', 's', 'nodejs_eventloop_lag_p99_seconds', 'instance'),
        perSecond('Garbage collection', 'nodejs_gc_duration_seconds_sum', 'instance'),
        highest('Open file descriptors', 'short', 'process_open_fds', 'instance'),
      ],
    },
    {
      title: 'Conversion events in memory',
      panels: [
        highest('Memory', 'bytes', 'exchange_conversions_index_bytes', 'instance'),
        highest('Events', 'short', 'exchange_conversions_index_fingerprints', 'instance'),
        highest('Event sources', 'short', 'exchange_conversions_index_sources', 'instance'),
        perSecond('Event sources evicted', 'exchange_conversions_index_evicted_total', 'instance'),
      ],
    },
  ],
};

const all = [requests, readModels, processes];

export const dashboardQueries = (): readonly string[] =>
  all.flatMap(({ rows }) =>
    rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr))),
  );

const SOURCE = { type: 'prometheus', uid: '${source}' };
const FIRST_LETTER = 65;
const [COLUMNS, PANEL_WIDTH, PANEL_HEIGHT] = [24, 8, 7];

const panelJson = ({ title, unit, queries }: Panel, id: number, x: number, y: number): object => ({
  id,
  type: 'timeseries',
  title,
  datasource: SOURCE,
  gridPos: { x, y, w: PANEL_WIDTH, h: PANEL_HEIGHT },
  fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  targets: queries.map(({ expr, legend }, index) => ({
    refId: String.fromCodePoint(FIRST_LETTER + index),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
  })),
});

const panelsJson = ({ rows }: Dashboard): readonly object[] => {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    for (const [index, panel] of ofRow.entries()) {
      const x = (index * PANEL_WIDTH) % COLUMNS;
      if (index > 0 && x === 0) y += PANEL_HEIGHT;
      panels.push(panelJson(panel, panels.length + 1, x, y));
    }
    y += PANEL_HEIGHT;
  }
  return panels;
};

const variables = [
  { name: 'source', label: 'Source', type: 'datasource', query: 'prometheus', current: {} },
  {
    name: 'job',
    label: 'Job',
    type: 'query',
    datasource: SOURCE,
    query: 'label_values(nodejs_version_info, job)',
    current: { text: 'exchange', value: 'exchange' },
    refresh: 1,
  },
];

const dashboardJson = (dashboard: Dashboard): string =>
  `${JSON.stringify(
    {
      uid: dashboard.uid,
      title: dashboard.title,
      tags: ['buyer-exchange'],
      schemaVersion: 39,
      version: 1,
      editable: false,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      templating: { list: variables },
      panels: panelsJson(dashboard),
    },
    undefined,
    2,
  )}\n`;

/** Dashboards for Grafana, by path. @throws Error if one names a metric, or a label, that the service does not have */
export const dashboardFiles = async (): Promise<ReadonlyMap<string, string>> => {
  const known: readonly KnownMetric[] = [
    ...(await ownMetrics()).flatMap(({ metrics }) => metrics),
    ...nodeMetrics(),
  ];
  for (const query of dashboardQueries()) refuseUnknownMetrics(query, known);
  return new Map(all.map((one) => [`deploy/grafana/${one.uid}.json`, dashboardJson(one)]));
};
