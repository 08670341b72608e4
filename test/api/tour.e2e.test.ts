import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { shippedProgram } from '../support/bundles.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const TOUR_MS_MAX = 60_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it(
  'the tour goes through all 14 endpoints and a history on an empty service, and shows no API key and no token of an upload',
  async () => {
    const child = spawn(process.execPath, ['--no-warnings', shippedProgram('tour.js')], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect({ stderr, status: child.exitCode }).toEqual({ stderr: '', status: 0 });
    expect(stdout).not.toContain('more lines');
    // The endpoints one after the other, by their numbers.
    const headed = [...stdout.matchAll(/^(\d+)\. [^\n]+\n[^]*?\n\n(\d{3}), /gm)];
    expect(headed.map(([, endpoint]) => Number(endpoint))).toEqual(
      Array.from({ length: 14 }, (_, n) => n + 1),
    );
    // At the end a line of each, answered with what it should be.
    const [, summary = ''] = stdout.split('\nSummary: ');
    expect(summary.split('\n')[0]).toMatch(/^14 of 14 endpoints, \d+ requests$/);
    const lines = [...summary.matchAll(/^ *(\d+) +(\d{3}) +([A-Z]+ \/\S+) +[\d.]+ ms/gm)];
    expect(lines.map(([, endpoint, status]) => `${endpoint} ${status}`)).toEqual(
      [200, 201, 200, 200, 201, 201, 200, 200, 200, 201, 200, 200, 200, 200].map(
        (status, n) => `${n + 1} ${status}`,
      ),
    );
    expect(summary.trimEnd().split('\n')).toHaveLength(1 + lines.length);
    // What was asked of the past, in this order, and that it was answered.
    const id = /GET \/api\/v2\/buyer\/advertisers\/(\d+)\/history\n\n200,/.exec(stdout)?.[1];
    const asked = ['/explain?path=/name', '?asOf=2', '/diff?from=2'];
    const answered = asked.map((what) =>
      stdout.indexOf(`> GET /api/v2/buyer/advertisers/${id}${what}\n\n200,`),
    );
    expect(answered).toEqual(answered.toSorted((a, b) => a - b));
    expect(answered[0]).toBeGreaterThan(0);
    const changes = stdout.split(`> PUT /api/v2/buyer/advertisers/${id}\n`).length - 1;
    expect([changes, stdout.match(/"setBy": \{\s+"id": [^}]*"revision": 4,/)?.length]).toEqual([3, 1]);
    expect(stdout).toMatch(/they fit \d+ checkpoints of chain 1[^]*advertisers: rebuilt in .* 0 differences/);
    expect(stdout).not.toMatch(/bx_\w{16}_\w|token=[^.]/);
  },
  TOUR_MS_MAX,
);
