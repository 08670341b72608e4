import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generousLimits } from '../support/generous-limits.ts';
import { exchange, startProgram, type Program } from '../support/program.ts';
import { backupOf, readIds, type ReleasedAnswers } from '../support/released-dump.ts';
import { continuedReleases, readReleased } from '../support/releases.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

/** This version on the stores of each release: `npm run released:dump` wrote them with that release. */

describe.each(continuedReleases)('this version on the stores of $version', ({ version: release }) => {
  const { customerId, ids } = readReleased(release, 'answers.json') as ReleasedAnswers;
  let database: TestDatabase;
  let folder: string;
  let settings: Readonly<Record<string, string>>;
  let program: Program;
  let baseUrl: string;
  const run = (...words: readonly string[]) => exchange(words, settings);
  beforeAll(async () => {
    database = await createEmptyDatabase();
    folder = await mkdtemp(join(tmpdir(), 'exchange-released-'));
    settings = { NODE_ENV: 'test', DATABASE_URL: database.url, DATA_DIR: folder };
    const restored = await run('backup', 'restore', backupOf(release));
    expect({ status: restored.status, said: restored.status === 0 ? '' : restored.stderr }).toEqual({
      status: 0,
      said: '',
    });
    // No worker: the agents of the dump are gone.
    program = startProgram({
      ...settings,
      ...generousLimits,
      ROLES: 'api,projector',
      PORT: '0',
      AGENT_CHECK_MS: '0',
    });
    [, baseUrl = ''] = await program.until(/"baseUrl":"([^"]+)"/);
    await until(async () => (await fetch(`${baseUrl}/ready`)).status === 200);
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('finds every resource', async () => {
    const made = await run('keys', 'create', String(customerId), '--name', 'Now', '--json');
    const { key } = JSON.parse(made.stdout) as { key: string };
    expect(Object.keys(ids).length).toBeGreaterThan(20);
    const found = await readIds(baseUrl, key, Object.keys(ids));
    for (const [path, known] of Object.entries(ids)) {
      expect([path, found[path]]).toEqual([path, expect.arrayContaining([...known])]);
    }
  });

  it('finds the log as it was sealed, and the read models as the log has them', async () => {
    const log = await run('log', 'verify');
    expect([log.status, log.stdout]).toEqual([0, expect.stringMatching(/they match [1-9]\d* checkpoints/)]);
    const models = await run('read-models', 'verify', '--json');
    expect({ status: models.status, said: models.status === 0 ? '' : models.stdout }).toEqual({
      status: 0,
      said: '',
    });
  });
});
