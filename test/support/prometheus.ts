import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const Config = z.looseObject({
  global: z.strictObject({ scrape_interval: z.string(), evaluation_interval: z.string() }),
  scrape_configs: z.tuple([z.looseObject({ static_configs: z.unknown() })]),
});
const Alerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ labels: z.looseObject({ alertname: z.string() }), state: z.string() })),
  }),
});
const Targets = z.object({ data: z.object({ activeTargets: z.array(z.object({ health: z.string() })) }) });

/** A range over fewer samples would often have no value. */
const RANGE_SECONDS_MIN = 3;

/** Rules for which a minute is a second: their waits, ranges, and thresholds that are ages. */
const hurried = (rules: string): string =>
  rules
    .replaceAll(/\bfor: (\d+)m\b/g, 'for: $1s')
    .replaceAll(/\[(\d+)m\]/g, (_, minutes) => `[${Math.max(RANGE_SECONDS_MIN, Number(minutes))}s]`)
    .replaceAll(/(_(?:age|due)_seconds\) > )(\d+)/g, (_, what, seconds) => `${what}${Number(seconds) / 60}`);

export interface Prometheus {
  /** Names of the alerts that fire. */
  firing(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/**
 * Debian's Prometheus with the configuration and the rules of `deploy/prometheus`, except for the targets and the pace.
 * @param targets `host:port` of listeners for operators; all of them answer once it has started
 */
export const startPrometheus = async (targets: readonly string[]): Promise<Prometheus> => {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-prometheus-'));
  const config = Config.parse(parse(await readFile('deploy/prometheus/prometheus.yml', 'utf8')));
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
  config.scrape_configs[0].static_configs = [{ targets }];
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  await writeFile(
    join(folder, 'alerts.yml'),
    hurried(await readFile('deploy/prometheus/alerts.yml', 'utf8')),
  );
  const port = await freePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const ask = async (path: string): Promise<unknown> =>
    (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json();
  await until(async () => {
    const answer = Targets.safeParse(await ask('targets').catch(() => undefined));
    const states = answer.data?.data.activeTargets ?? [];
    return states.length === targets.length && states.every(({ health }) => health === 'up');
  });
  return {
    firing: async () =>
      Alerts.parse(await ask('alerts')).data.alerts.flatMap(({ labels, state }) =>
        state === 'firing' ? [labels.alertname] : [],
      ),
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await rm(folder, { recursive: true });
    },
  };
};
