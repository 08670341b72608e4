import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { variables } from '../../app/config.ts';
import { errorCodes } from '../../shared/http/errors.ts';
import { knownEvents } from '../golden/golden-files.ts';
import { referencePages } from '../reference/reference-pages.ts';
import { startRunningService } from '../support/running-service.ts';

const pages = await referencePages();
const page = (path: string): string => pages.get(path) ?? '';

describe('the reference', () => {
  it.each([...pages])('%s equals the output of `npm run docs:reference`', (path, text) => {
    expect(readFileSync(path, 'utf8') === text).toBe(true);
  });

  it('has no other page', () => {
    const found = readdirSync('docs/reference', { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`);
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
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
    await service.stop();
    const names = [...text.matchAll(/^# HELP (\w+)/gm)].map(([, name = '']) => name);
    expect(names).toContain('projection_lag_events');
    expect(names.filter((name) => !page('docs/reference/metrics.md').includes(`\`${name}\``))).toEqual([]);
  });
});
