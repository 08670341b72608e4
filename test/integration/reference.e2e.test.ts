import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { variables } from '../../app/config.ts';
import { errorCodes } from '../../shared/http/errors.ts';
import { knownEvents } from '../golden/golden-files.ts';
import { readOpenApi } from '../reference/read-openapi.ts';
import { referencePages } from '../reference/reference-pages.ts';
import { hasPromtool, promtool } from '../support/promtool.ts';
import { startRunningService } from '../support/running-service.ts';

const pages = await referencePages();
const page = (path: string): string => pages.get(path) ?? '';

describe('the reference', () => {
  it.each([...pages])('%s equals the output of `npm run docs:reference`', (path, text) => {
    expect(readFileSync(path, 'utf8') === text).toBe(true);
  });

  it('the types of the client are those of the present document: `npm run client:types`', async () => {
    const hash = createHash('sha256')
      .update(JSON.stringify(await readOpenApi()))
      .digest('hex');
    expect(readFileSync('client/src/api.ts', 'utf8').split('\n')[0]).toContain(hash);
  });

  it('has no other page', () => {
    const found = readdirSync('docs/reference', { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`);
    const dashboards = readdirSync('deploy/grafana').filter((name) => name.endsWith('.json'));
    found.push(...dashboards.map((name) => `deploy/grafana/${name}`));
    found.push(...readdirSync('deploy/kubernetes').map((name) => `deploy/kubernetes/${name}`));
    expect(found.filter((path) => !pages.has(path))).toEqual([]);
  });

  it('contains every setting (also in .env.example), every error code, and a writer of every event', () => {
    for (const name of Object.keys(variables)) {
      expect(page('docs/reference/configuration.md')).toContain(`\`${name}\``);
      expect(page('.env.example')).toMatch(new RegExp(`^# ${name}=`, 'm'));
    }
    for (const code of Object.keys(errorCodes)) {
      expect(page('docs/reference/errors.md')).toContain(`\`${code}\``);
    }
    for (const { type, kind } of knownEvents()) {
      expect(page(`docs/reference/events/${kind.category}.md`)).toContain(`## ${type}\n`);
      expect(page(`docs/reference/events/${kind.category}.md`)).not.toContain('no file: old versions only');
    }
  });

  it('contains every metric of a running service', async () => {
    const service = await startRunningService();
    const text = await service.metrics();
    await service.stop();
    const names = [...text.matchAll(/^# HELP (\w+)/gm)].map(([, name = '']) => name);
    expect(names).toContain('exchange_projection_lag_events');
    expect(names.filter((name) => !page('docs/reference/metrics.md').includes(`\`${name}\``))).toEqual([]);
    // Those of prom-client do not all keep to Prometheus' conventions.
    const own = text
      .split('\n')
      .filter((line) => /^(?:# (?:HELP|TYPE) )?(?:exchange|http_server)_/.test(line));
    if (hasPromtool()) promtool(['check', 'metrics'], `${own.join('\n')}\n`);
  });
});
