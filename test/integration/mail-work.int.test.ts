import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createLog } from '../../app/log.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { findSecretsInUse } from '../../app/lookups/secrets-in-use.ts';
import { createOrphanSecrets } from '../../command/secrets/orphan-secrets.ts';
import { createLinkTokenOf, hashOfToken } from '../../command/workers/mail/link-token.ts';
import { MAIL, NO_ACCOUNT, requestMail } from '../../command/workers/mail/request-mail.ts';
import { mails, type ComposeMail } from '../../command/workers/mail/send-mails.ts';
import { createSnapshotStore } from '../../shared/aggregate/snapshots.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { MailError, type Mail, type Mailer } from '../../shared/mail/mailer.ts';
import { createOutbox } from '../../shared/mail/outbox.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { createSecretStore, type SecretStore } from '../../shared/secrets/secret-store.ts';
import { endedWork } from '../../shared/work-list/ended-work.ts';
import { createWorkList, type WorkList } from '../../shared/work-list/work-list.ts';
import { createWorkMetrics } from '../../shared/work-list/work-metrics.ts';
import { readOutbox } from '../support/read-mail.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { workOnce } from '../support/work-once.ts';

const keys = async () => parseKeyRing(`test:${'A'.repeat(43)}`);
const from = { name: 'Exchange', address: 'no-reply@exchange.example' };
const ADDRESS = 'canary-person@buyer.example';

let database: TestDatabase;
let pool: Pool;
let list: WorkList;
let secrets: SecretStore;
let dataDir: string;
let log = '';
const logger = pino({ level: 'trace' }, { write: (line: string) => void (log += line) });
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 4, system: true },
    createLog('silent'),
  );
  list = createWorkList(pool);
  secrets = createSecretStore(pool, keys);
});
beforeEach(async () => {
  await pool.query('truncate work_list, secrets');
  dataDir = await mkdtemp(join(tmpdir(), 'mail-work-'));
  log = '';
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const compose: ComposeMail = async (_customerId, mailId, { to, name }) => ({
  to: z.string().parse(to),
  subject: `Hello ${z.string().parse(name)}`,
  text: `https://exchange.example/console/set-up#token=${await createLinkTokenOf(keys)(mailId)}`,
});

const outbox = (): Mailer => createOutbox(join(dataDir, 'outbox'), from, logger);
const kindWith = (mailer: Mailer = outbox(), composed: ComposeMail = compose) =>
  mails({ secrets, mailer, compose: composed, log: logger });
const failing = (error: Error): Mailer => ({
  ...outbox(),
  send: async () => {
    throw error;
  },
});
const request = async (customerId = NO_ACCOUNT, to = ADDRESS): Promise<string> => {
  const mailId = randomUUID();
  await requestMail(pool, keys, { customerId, mailId, request: { type: 'hello', to, name: 'Zoë' } });
  return mailId;
};

interface Entry {
  readonly key: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly afterS: number;
}

const entries = async (): Promise<readonly Entry[]> =>
  (
    await pool.query<Entry>(
      `select key, attempts, last_error, extract(epoch from due_at - now())::float8 as "afterS" from work_list`,
    )
  ).rows;
const sealed = async (): Promise<readonly string[]> =>
  (await pool.query<{ id: string }>('select id from secrets')).rows.map(({ id }) => id);
const advance = () =>
  pool.query(`update work_list set due_at = now(), not_before = now() where due_at < 'infinity'`);

describe('a requested mail', () => {
  it('is one file, whose request is deleted', async () => {
    const mailId = await request();
    expect(await sealed()).toEqual([mailId]);
    expect(await workOnce(list, kindWith())).toBe(1);
    expect([await entries(), await sealed()]).toEqual([[], []]);
    const found = await readOutbox(dataDir);
    const token = await createLinkTokenOf(keys)(mailId);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(hashOfToken(token)).toHaveLength(32);
    expect([...found]).toEqual([
      [
        mailId,
        {
          headers: expect.objectContaining({ to: ADDRESS, subject: 'Hello Zoë' }),
          text: `https://exchange.example/console/set-up#token=${token}`,
        },
      ],
    ]);
    expect(await readdir(join(dataDir, 'outbox'))).toEqual([`${mailId}.eml`]);
    expect(await workOnce(list, kindWith())).toBe(0);
  });

  it('exists with the transaction that requests it, or not at all', async () => {
    const mailId = randomUUID();
    const mail = { customerId: 7, mailId, request: { to: ADDRESS } };
    const refused = inTransaction(pool, async (client) => {
      await requestMail(client, keys, mail);
      throw new Error('the command is refused');
    });
    await expect(refused).rejects.toThrow('refused');
    expect([await entries(), await sealed()]).toEqual([[], []]);
    await inTransaction(pool, (client) => requestMail(client, keys, mail));
    expect([(await entries()).length, await sealed()]).toEqual([1, [mailId]]);
  });

  it('is sent once when it is requested twice', async () => {
    const mailId = await request();
    await requestMail(pool, keys, {
      customerId: NO_ACCOUNT,
      mailId,
      request: { to: ADDRESS, name: 'Zoë' },
    });
    expect([await workOnce(list, kindWith()), await workOnce(list, kindWith())]).toEqual([1, 0]);
  });

  it('is not sent when it has become pointless', async () => {
    await request();
    await workOnce(
      list,
      kindWith(outbox(), async () => undefined),
    );
    expect([await entries(), await sealed(), (await readOutbox(dataDir)).size]).toEqual([[], [], 0]);
  });

  it('is not sent again when only the result was lost', async () => {
    const mailId = await request();
    await secrets.remove(NO_ACCOUNT, mailId);
    await workOnce(list, kindWith());
    expect([await entries(), (await readOutbox(dataDir)).size]).toEqual([[], 0]);
  });
});

describe('a mail that cannot be sent', () => {
  it('is tried 31 times in about a day, and ends with its reason', async () => {
    const mailId = await request();
    const kind = kindWith(
      failing(new MailError('The mail server refused the session (421).', { isFinal: false })),
    );
    let waitedS = 0;
    for (let attempt = 1; attempt <= 31; attempt++) {
      expect([attempt, await workOnce(list, kind)]).toEqual([attempt, 1]);
      const [entry] = await entries();
      expect(entry).toMatchObject({
        attempts: attempt,
        last_error: 'The mail server refused the session (421).',
      });
      if (attempt < 31) {
        expect(await sealed()).toEqual([mailId]);
        waitedS += entry?.afterS ?? 0;
      } else expect(entry?.afterS).toBe(Infinity);
      await advance();
    }
    expect(waitedS / 3_600).toBeGreaterThan(22);
    expect(waitedS / 3_600).toBeLessThan(26);
    expect([await workOnce(list, kind), await sealed()]).toEqual([0, []]);
  });

  it('ends at once when the server refuses the recipient', async () => {
    const mailId = await request();
    await workOnce(list, kindWith(failing(new MailError('refused (550 5.1.1)', { isFinal: true }))));
    expect(await entries()).toEqual([
      { key: mailId, attempts: 1, last_error: 'refused (550 5.1.1)', afterS: Infinity },
    ]);
    expect(await sealed()).toEqual([]);
    expect(log).toContain('a mail was given up');
    const registry = new Registry();
    createWorkMetrics(registry, pool, [MAIL]);
    expect(await registry.metrics()).toContain('exchange_work_failing{kind="mail"} 0');
  });

  it('disappears from the list a week after its end', async () => {
    const [ended, waiting] = [await request(), await request()];
    await workOnce(list, kindWith(failing(new MailError('refused', { isFinal: true }))));
    await pool.query(`update work_list set due_at = now() where key = $1`, [waiting]);
    const purge = () => endedWork(pool, MAIL, 7).purge(100);
    expect(await purge()).toBe(0);
    await pool.query(`update work_list set failed_at = now() - interval '8 days'`);
    expect(await purge()).toBe(1);
    expect((await entries()).map(({ key }) => key)).toEqual([waiting].filter((key) => key !== ended));
  });

  it('is tried again after another error, whose message is not shown', async () => {
    await request();
    const broken: ComposeMail = async (_customerId, _mailId, { to }) => {
      throw new TypeError(`no page for ${JSON.stringify(to)}`);
    };
    await workOnce(list, kindWith(outbox(), broken));
    expect(await entries()).toMatchObject([
      { attempts: 1, last_error: 'The mail cannot be composed (TypeError).' },
    ]);
    expect(log).toContain('mail-work');
    await advance();
    await workOnce(list, kindWith());
    expect((await readOutbox(dataDir)).size).toBe(1);
    expect(log).not.toContain(ADDRESS);
  });

  it('waits for its key', async () => {
    const mailId = await request();
    await pool.query(`update secrets set key_id = 'removed'`);
    await workOnce(list, kindWith());
    expect([(await entries()).length, await sealed()]).toEqual([1, [mailId]]);
    await pool.query(`update secrets set key_id = 'test'`);
    await advance();
    await workOnce(list, kindWith());
    expect([...(await readOutbox(dataDir)).keys()]).toEqual([mailId]);
  });
});

it('four mails of people without an account are sent at once, and those of accounts do not wait for them', async () => {
  const slow: Mail[] = [];
  const release: (() => void)[] = [];
  const mailer: Mailer = {
    ...outbox(),
    send: (_id, mail) => {
      slow.push(mail);
      return new Promise((resolve) => release.push(resolve));
    },
  };
  const { concurrency, perAccountMax, handle } = kindWith(mailer);
  for (let n = 0; n < 8; n++) await request();
  await request(7, 'other@buyer.example');
  const offered = await list.offer(MAIL, { countMax: concurrency, perAccountMax });
  expect(offered.map(({ customerId }) => customerId)).toContain(7);
  expect(offered.filter(({ customerId }) => customerId === 0)).toHaveLength(4);
  const run = { attempt: 1, isLastAttempt: false, signal: new AbortController().signal };
  const ends = offered.map((entry) => handle(entry, run));
  while (slow.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const one of release) one();
  expect(new Set((await Promise.all(ends)).map(({ is }) => is))).toEqual(new Set(['done']));
});

describe('the sweep of orphan secrets', () => {
  const sweep = async (): Promise<number> => {
    const store = createMemoryEventStore();
    const snapshots = createSnapshotStore(pool, createLog('silent'));
    return createOrphanSecrets(
      { pool, log: logger, store, snapshots, clock: systemClock },
      findSecretsInUse(pool),
    ).purge(100);
  };

  it('keeps requests of mails that wait, and deletes those of mails that ended or are gone', async () => {
    const [waiting, ended, gone, fresh] = [
      await request(),
      await request(7),
      await request(),
      await request(),
    ];
    await pool.query(`update work_list set due_at = 'infinity' where key = $1`, [ended]);
    await pool.query('delete from work_list where key = any($1::uuid[])', [[gone, fresh]]);
    expect(await sweep()).toBe(0);
    await pool.query(`update secrets set created_at = now() - interval '2 hours' where id <> $1`, [fresh]);
    expect(await sweep()).toBe(2);
    expect(new Set(await sealed())).toEqual(new Set([waiting, fresh]));
  });
});
