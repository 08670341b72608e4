import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shippedProgram } from '../support/bundles.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const TOUR_MS_MAX = 150_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it(
  'the tour calls all 14 endpoints and a history on an empty service, and shows no API key and no upload token',
  async () => {
    const child = spawn(process.execPath, ['--no-warnings', shippedProgram('tour.js')], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect({ stderr, status: child.exitCode }).toEqual({ stderr: '', status: 0 });
    expect([...stdout.matchAll(/^=== (\d+) of 12: /gm)].map(([, chapter]) => Number(chapter))).toEqual(
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
    expect(stdout).toMatch(/^\.\.\. \d+ more lines$/m);
    expect(stdout).not.toContain('Press Enter');
    // The endpoints in the order of their numbers.
    const headed = [...stdout.matchAll(/^(\d+)\. [^\n]+\n[^]*?\n\n(\d{3}), /gm)];
    expect(headed.map(([, endpoint]) => Number(endpoint))).toEqual(
      Array.from({ length: 14 }, (_, n) => n + 1),
    );
    // The summary has a line for each, with the expected status.
    const [, summary = ''] = stdout.split('\nSummary: ');
    expect(summary.split('\n')[0]).toMatch(/^14 of 14 endpoints, \d+ requests$/);
    const lines = [...summary.matchAll(/^ *(\d+) +(\d{3}) +([A-Z]+ \/\S+) +[\d.]+ ms/gm)];
    expect(lines.map(([, endpoint, status]) => `${endpoint} ${status}`)).toEqual(
      [200, 201, 200, 200, 201, 201, 200, 200, 200, 201, 200, 200, 200, 200].map(
        (status, n) => `${n + 1} ${status}`,
      ),
    );
    expect(summary.trimEnd().split('\n')).toHaveLength(1 + lines.length);
    // The requests for history, in this order, with their answers.
    const id = /GET \/api\/v2\/buyer\/advertisers\/(\d+)\/history\n\n200,/.exec(stdout)?.[1];
    const asked = ['/explain?path=/name', '?asOf=2', '/diff?from=2'];
    const answered = asked.map((what) =>
      stdout.indexOf(`> GET /api/v2/buyer/advertisers/${id}${what}\n\n200,`),
    );
    expect(answered).toEqual(answered.toSorted((a, b) => a - b));
    expect(answered[0]).toBeGreaterThan(0);
    const changes = stdout.split(`> PUT /api/v2/buyer/advertisers/${id}\n`).length - 1;
    expect([changes, stdout.match(/"setBy": \{\s+"id": [^}]*"revision": 4,/)?.length]).toEqual([3, 1]);
    expect(stdout).toMatch(
      /they match \d+ checkpoints of chain 1[^]*advertisers: rebuilt in .* 0 differences/,
    );
    // A seller's proposal and its delivery, read by an agent.
    expect(stdout).toMatch(/ the seller has quoted a proposal\.[^]*: 12400 impressions, 105\.5 USD\./);
    expect(stdout).not.toMatch(/bx_\w{16}_\w|token=[^.]/);
  },
  TOUR_MS_MAX,
);

describe('on a running service', () => {
  const tour = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, ['--no-warnings', shippedProgram('tour.js'), ...args], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { stdout, stderr, status: child.exitCode };
  };
  let service: RunningService;
  let agent: SandboxAgent;
  beforeAll(async () => {
    [service, agent] = await Promise.all([
      startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '1500' }),
      startSandboxAgent(),
    ]);
  });
  afterAll(() => Promise.all([service.stop(), agent.stop()]));

  it(
    'the tour succeeds while another account has an audience at the same agent, and leaves that unchanged',
    async () => {
      const { api } = await service.openAccount('Another');
      const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Other' })).body.data;
      await api.post(`/advertisers/${id}/audiences/sync`, {
        audiences: [{ audienceId: 'customers', add: [{ externalId: 'x', hashedEmail: 'a'.repeat(64) }] }],
      });
      const registered = await api.post<{ id: string }>('/adcp-agents', {
        name: 'Sandbox',
        url: agent.url,
        protocol: 'MCP',
        auth: { type: 'bearer', token: agent.token },
        accountId: 'another',
      });
      const held = () => agent.members('another', 'customers');
      await api.post(`/advertisers/${id}/syndicate`, {
        resourceType: 'AUDIENCE',
        resourceId: 'customers',
        adcpAgentIds: [registered.body.data.id],
        enabled: true,
      });
      await until(async () => (await held()) !== undefined, 30_000);
      const { apiKey } = await service.openAccount('Touring');
      const at = ['--url', service.baseUrl, '--key', apiKey, '--agent', new URL(agent.url).origin];
      // Twice: data of the first run must not disturb the second.
      for (const run of [1, 2]) {
        const { stdout, stderr, status } = await tour(...at);
        expect({ run, stderr, status }).toEqual({ run, stderr: '', status: 0 });
        expect(stdout).toContain('Summary: 14 of 14 endpoints');
      }
      expect(Object.keys((await held()) ?? {})).toEqual(['x']);
    },
    2 * TOUR_MS_MAX,
  );

  it('the tour checks its requirements at the start, and creates no data if one is missing', async () => {
    const strict = await startRunningService();
    const { api, apiKey } = await strict.openAccount();
    const origin = new URL(agent.url).origin;
    const refused = await tour('--url', strict.baseUrl, '--key', apiKey, '--agent', origin);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(
      /^\nThe tour stopped: .*unless the service is started with OUTBOUND_ALLOW_LOOPBACK=true/,
    );
    const alone = await tour('--url', strict.baseUrl, '--key', apiKey, '--agent', 'http://127.0.0.1:1');
    expect([alone.status, alone.stderr]).toEqual([
      1,
      expect.stringContaining('Start the agent with `npm run -s sandbox-agent`'),
    ]);
    expect((await api.get('/advertisers')).body.meta.pagination.total).toBe(0);
    await strict.stop();
  });

  it('--seller takes the id of a seller', async () => {
    const { status, stderr } = await tour('--url', service.baseUrl, '--key', 'k', '--seller', 'News');
    expect([status, stderr.split('\n')[0]]).toEqual([2, '--seller must be the id of a seller']);
  });

  it(
    'on a terminal the tour waits for Enter between chapters',
    async () => {
      const own = await createTestDatabase();
      const child = spawn(
        'script',
        ['-qfec', `${process.execPath} ${shippedProgram('tour.js')}`, '/dev/null'],
        {
          env: { PATH: process.env['PATH'], DATABASE_URL: own.url },
          stdio: ['pipe', 'pipe', 'ignore'],
        },
      );
      const exited = once(child, 'close');
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
      const waits = (chapters: number): Promise<unknown> =>
        until(async () => shown.split('Press Enter').length - 1 === chapters, TOUR_MS_MAX);
      await waits(1);
      expect(shown).not.toContain('=== 2 of 12');
      child.stdin.write('\n');
      await waits(2);
      expect(shown).toContain('=== 2 of 12');
      child.stdin.write('\u0003');
      expect((await exited)[0]).toBe(130);
      await own.drop();
    },
    3 * TOUR_MS_MAX,
  );

  it(
    'with --keep the tour leaves its service running until Ctrl-C, and prints what to try next',
    async () => {
      const own = await createTestDatabase();
      const child = spawn(process.execPath, ['--no-warnings', shippedProgram('tour.js'), '--keep'], {
        env: { PATH: process.env['PATH'], DATABASE_URL: own.url },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const exited = once(child, 'exit');
      let shown = '';
      child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
      await until(async () => shown.includes('Every endpoint: '), TOUR_MS_MAX);
      const [, key = ''] = /export KEY=(\S+)/.exec(shown) ?? [];
      const [, address = ''] = /curl -s '(\S+advertisers)'/.exec(shown) ?? [];
      const list = () => fetch(address, { headers: { Authorization: `Bearer ${key}` } });
      expect((await list()).status).toBe(200);
      const [, link] = /as its first admin [^\n]*\n\n +(\S+)/.exec(shown) ?? [];
      expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/set-up#token=[\w-]{20,}$/);
      child.kill('SIGINT');
      expect((await exited)[0]).toBe(130);
      await expect(list()).rejects.toThrow();
      await own.drop();
    },
    2 * TOUR_MS_MAX,
  );

  it(
    'an interrupted tour ends its programs and exits with 130, as a shell does',
    async () => {
      const own = await createTestDatabase();
      const child = spawn(process.execPath, ['--no-warnings', shippedProgram('tour.js')], {
        env: { PATH: process.env['PATH'], DATABASE_URL: own.url },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const exited = once(child, 'exit');
      child.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes('> POST')) child.kill('SIGINT');
      });
      const [status] = (await exited) as [number | null];
      expect(status).toBe(130);
      await own.drop();
    },
    TOUR_MS_MAX,
  );
});
