import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { requestMail } from '../../command/workers/mail/request-mail.ts';
import { startMailServer } from '../support/mail-server.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { readMail, readOutbox } from '../support/read-mail.ts';
import { sampleKeys, sampleLink } from '../support/sample-mails.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { testProgram } from '../support/bundles.ts';
import { until } from '../support/until.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/** Workers are killed before and after they hand mails over. No mail is lost, and a double has the same Message-ID. */

const ROUND = 12;
const ROUNDS_MAX = 10;
const POINTS = ['before-mail', 'after-mail'] as const;
const EMPTY_MS_MAX = 180_000;

let database: TestDatabase;
let dataDir: string;
let installation: Installation;
let supervisor: Supervisor;
let hitsFile: string;

beforeEach(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'mails-'));
  hitsFile = join(dataDir, 'hits');
  const stores = { DATABASE_URL: database.url, DATA_DIR: dataDir, SECRET_KEYS: sampleKeys };
  installation = await openWithLongTimeouts(readConfig(stores), 'mails');
});
afterEach(async () => {
  await supervisor.stop();
  await installation.close();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const startWorkers = async (settings: Readonly<Record<string, string>> = {}): Promise<void> => {
  supervisor = await startSupervisor(
    [{}, { ROLES: 'worker' }],
    {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      SECRET_KEYS: sampleKeys,
      EXCHANGE_FAILPOINTS: POINTS.map((point) => `${point}:0.2`).join(','),
      EXCHANGE_FAILPOINT_FILE: hitsFile,
      ...settings,
    },
    testProgram('support/mail-service-process.js'),
  );
  await supervisor.ready();
};

const addressOf = (mailId: string): string => `${mailId}@buyer.example`;

const requestSome = async (): Promise<readonly string[]> => {
  const ids = Array.from({ length: ROUND }, () => randomUUID());
  // Half of them for people without an account.
  await Promise.all(
    ids.map((id, n) =>
      requestMail(installation.pool, installation.keys, {
        customerId: n % 2 === 0 ? 0 : n,
        mailId: id,
        request: { to: addressOf(id), name: 'Zoë' },
      }),
    ),
  );
  return ids;
};

const rowsOf = async (table: 'work_list' | 'secrets'): Promise<number> =>
  (await installation.pool.query(`select from ${table}`)).rowCount ?? 0;

/** Requests mails until workers were killed at each point, and waits until all mails are handed over. */
const sendThroughKills = async (): Promise<readonly string[]> => {
  const ids: string[] = [];
  const isHit = async (): Promise<boolean> => {
    const hits = await readFile(hitsFile, 'utf8').catch(() => '');
    return POINTS.every((point) => hits.includes(point));
  };
  for (let round = 0; round < ROUNDS_MAX && !(await isHit()); round++) {
    ids.push(...(await requestSome()));
    await until(async () => (await rowsOf('work_list')) === 0, EMPTY_MS_MAX);
  }
  expect(await isHit()).toBe(true);
  expect(supervisor.crashes).toBeGreaterThanOrEqual(2);
  return ids;
};

describe('mails under kills', () => {
  it('are each one file in the outbox', async () => {
    await startWorkers();
    const ids = await sendThroughKills();
    console.log(`outbox: ${ids.length} mails, ${supervisor.crashes} kills`);
    const found = await readOutbox(dataDir);
    expect([...found.keys()].toSorted()).toEqual(ids.toSorted());
    expect((await readdir(join(dataDir, 'outbox'))).length).toBe(ids.length);
    for (const [id, { headers, text }] of found) {
      expect([headers['to'], headers['subject']]).toEqual([addressOf(id), 'Hello Zoë']);
      expect(text).toContain(await sampleLink(id));
    }
    expect(await rowsOf('secrets')).toBe(0);
  }, 600_000);

  it('reach the mail server, doubles under the same Message-ID', async () => {
    const server = await startMailServer();
    try {
      await startWorkers({
        SMTP_URL: `smtp://127.0.0.1:${server.port}`,
        MAIL_FROM: 'no-reply@exchange.example',
      });
      const ids = await sendThroughKills();
      const received = server.received.map(({ source }) => readMail(source));

      console.log(`SMTP: ${ids.length} mails, ${supervisor.crashes} kills, ${received.length} received`);
      const messageIds = received.map(({ headers }) => headers['message-id'] ?? '');
      expect([...new Set(messageIds)].toSorted()).toEqual(
        ids.map((id) => `<${id}@exchange.example>`).toSorted(),
      );
      const copies = received.map(({ headers, text }) => `${headers['message-id']} ${headers['to']} ${text}`);
      expect(new Set(copies).size).toBe(ids.length);
      expect(await rowsOf('secrets')).toBe(0);
    } finally {
      await server.stop();
    }
  }, 600_000);
});
