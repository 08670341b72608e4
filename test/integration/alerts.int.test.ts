import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { nodeMetrics, ownMetrics } from '../reference/all-metrics.ts';
import { dashboardQueries } from '../reference/dashboards.ts';
import { refuseUnknownMetrics } from '../reference/promql.ts';
import { describeWithPromtool, promtool } from '../support/promtool.ts';

/** Metrics, dashboards and alerts agree with each other; Prometheus' own program judges what it will read. */

const own = (await ownMetrics()).flatMap(({ metrics }) => metrics);
const known = [...own, ...nodeMetrics()];

const Alert = z.object({
  alert: z.string(),
  expr: z.string(),
  labels: z.object({ severity: z.enum(['warning', 'critical']) }),
  annotations: z.object({ summary: z.string(), runbook: z.string() }),
});
const yaml = (path: string): unknown => parse(readFileSync(path, 'utf8'));
const alerts = z
  .object({ groups: z.array(z.object({ rules: z.array(Alert) })) })
  .parse(yaml('deploy/prometheus/alerts.yml'))
  .groups.flatMap(({ rules }) => rules);

describe('the names of metrics', () => {
  it('begin with exchange_, or with the name of a convention', () => {
    expect(own.filter(({ name }) => !/^(?:exchange|http_server)_[a-z]+(?:_[a-z]+)*$/.test(name))).toEqual([]);
  });

  it('of counters end in _total, and no others', () => {
    for (const { name, type } of own)
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
  });
});

describe('the dashboards', () => {
  it('show every metric of the service', () => {
    const shown = new Set(
      dashboardQueries().flatMap((query) => refuseUnknownMetrics(query, known).map(({ name }) => name)),
    );
    expect(own.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([]);
  });

  it.each([
    ['exchange_gone_total', 'rate(exchange_gone_total[5m])'],
    ['http_server_request_duration_seconds_total', 'http_server_request_duration_seconds_total'],
    ['colour', 'sum by (colour) (exchange_work_due)'],
    ['shape', 'exchange_work_due{shape="x"}'],
  ])('cannot be made if one names %s', (name, query) => {
    expect(() => refuseUnknownMetrics(query, known)).toThrow(name);
  });
});

describe('the alerts', () => {
  it.each(alerts)('$alert names metrics and labels of the service', ({ expr }) => {
    expect(() => refuseUnknownMetrics(expr, known)).not.toThrow();
  });

  it('have a page each, in the index of the runbooks', () => {
    const index = readFileSync('docs/operate/runbooks/README.md', 'utf8');
    for (const { alert, annotations } of alerts) {
      expect(readFileSync(annotations.runbook, 'utf8')).toMatch(new RegExp(`^# ${alert}\\n`));
      expect(index).toContain(`[${alert}]`);
    }
    expect(readdirSync('docs/operate/runbooks').length).toBe(alerts.length + 1);
  });

  it('are silent at first and then fire in their tests', () => {
    const Case = z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) });
    const { tests } = z
      .object({ tests: z.array(z.object({ alert_rule_test: z.array(Case) })) })
      .parse(yaml('deploy/prometheus/alerts.test.yml'));
    const cases = tests.flatMap(({ alert_rule_test: ofAlert }) => ofAlert);
    for (const { alert } of alerts) {
      const counts = cases.filter(({ alertname }) => alertname === alert).map((one) => one.exp_alerts.length);
      expect([alert, counts]).toEqual([alert, [0, 1]]);
    }
  });
});

describeWithPromtool('promtool', () => {
  it('accepts the alerts and the configuration', () => {
    promtool(['check', 'rules', 'deploy/prometheus/alerts.yml']);
    promtool(['check', 'config', 'deploy/prometheus/prometheus.yml']);
  });

  it('finds that each alert fires', () => {
    expect(promtool(['test', 'rules', 'deploy/prometheus/alerts.test.yml'])).toContain('SUCCESS');
  });

  it('can read each query of the dashboards', () => {
    const folder = mkdtempSync(join(tmpdir(), 'exchange-rules-'));
    const path = join(folder, 'queries.yml');
    // As rules: Grafana replaces its variables before it asks.
    const rules = dashboardQueries().map((query, n) => ({
      record: `query:${n}`,
      expr: query.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'exchange'),
    }));
    writeFileSync(path, stringify({ groups: [{ name: 'queries', rules }] }));
    expect(promtool(['check', 'rules', path])).toContain(`${rules.length} rules found`);
    rmSync(folder, { recursive: true });
  });
});
