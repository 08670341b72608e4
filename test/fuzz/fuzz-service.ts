import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount, createSellerAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import { specifiedLimits } from '../../shared/limits/limits.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { checkLogAndRows } from '../faults/kit/checker.ts';
import { apiOf } from '../support/api-client.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { strayUploads } from '../support/uploads.ts';
import { BUSY_ADDRESS } from './fuzz-case.ts';
import { fuzzRun, type Attack, type FuzzOptions, type FuzzReport } from './fuzz-run.ts';
import { startTarget } from './fuzz-target.ts';
import { bytes, members, refusedOnly, resources } from './given.ts';
import { addUsers, signInPerson } from './sign-in-person.ts';

const MEMBERS = 12;

/** Attacks the whole service in a separate process with its own database, and then checks its read models. */
export const fuzzService = async (options: FuzzOptions): Promise<FuzzReport> => {
  const database = await createTestDatabase();
  const config = readConfig({ DATABASE_URL: database.url });
  const installation = await openWithLongTimeouts(config, 'fuzz');
  const dataDir = await mkdtemp(join(tmpdir(), 'fuzz-'));
  const target = await startTarget('service-main.js', {
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'error',
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    // The fuzzer's random host names may be real ones, so the service must not call them.
    AGENT_CHECK_MS: '0',
    ...generousLimits,
    LIMIT_UNVERIFIED: String(specifiedLimits.unverified.requests),
    // Each request sets its client address.
    TRUSTED_PROXIES: '1',
  });
  try {
    const own = await createAccount(installation, 'Fuzzed');
    const foreign = await createAccount(installation, 'Foreign');
    const sellers = await Promise.all([1, 2, 3].map((id) => createSellerAccount(installation, 'Seller', id)));
    const api = apiOf(target.baseUrl, { Authorization: `Bearer ${own.apiKey}` });
    const person = await signInPerson(installation, target.baseUrl, own.customerId);
    const issued = async (body: object) => (await api.post<IssuedKey>('/api-keys', body)).body.data;
    const reader = await issued({ name: 'Reads only', scopes: ['exchange:read'] });
    const revoked = await issued({ name: 'Revoked' });
    await api.delete(`/api-keys/${revoked.id}`);
    const keys = [own.apiKey, foreign.apiKey, reader.key, ...sellers.map(({ apiKey }) => apiKey)];
    const attack: Attack = {
      target,
      credentials: [
        {
          name: 'own',
          authorization: `Bearer ${own.apiKey}`,
          cookie: person.cookie,
          weight: 30,
          owner: 'own',
        },
        {
          name: 'of another account',
          authorization: `Bearer ${foreign.apiKey}`,
          weight: 3,
          owner: 'foreign',
        },
        ...sellers.map(({ apiKey }, n) => ({
          name: `of seller ${n + 1}`,
          authorization: `Bearer ${apiKey}`,
          weight: 1,
          owner: 'own' as const,
          scope: 'exchange:review',
        })),
        { name: 'reads only', authorization: `Bearer ${reader.key}`, weight: 1 },
        { name: 'revoked', authorization: `Bearer ${revoked.key}`, weight: 1 },
        { name: 'none', authorization: undefined, weight: 1 },
      ],
      secrets: [...keys.map(secretOf), person.secret],
      keep: [...keys.map(idOf), reader.id, person.userId, person.sessionId],
      members,
      bytes,
      refusedOnly,
      give: async (known) => {
        for (const { path, make } of resources) known.give(path, await make(api));
        for (const userId of await addUsers(installation, own.customerId, MEMBERS)) {
          known.give('/api/v2/accounts/current/members/{userId}', [userId]);
        }
      },
      refused: BUSY_ADDRESS,
      whenWarm: () => failTooOften(target.baseUrl, revoked.key),
    };
    const report = await fuzzRun(attack, options);
    await untilCaughtUp(target.baseUrl);
    const { brokenLog, wrongRows } = await checkLogAndRows(installation);
    const stray = await strayUploads(installation.pool, dataDir);
    const failures = [report.failures, brokenLog.slice(0, 3), wrongRows.slice(0, 3), stray.slice(0, 3)];
    return { ...report, failures: failures.flat() };
  } finally {
    await target.stop();
    await installation.close();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  }
};

/**
 * Causes 30 failed credentials from the busy address. From then on keys that were verified from there within a minute
 * pass, and all others get 429.
 */
const failTooOften = async (baseUrl: string, key: string): Promise<void> => {
  const headers = { Authorization: `Bearer ${key}`, 'X-Forwarded-For': BUSY_ADDRESS };
  const statuses: number[] = [];
  for (let n = 0; n <= specifiedLimits.unverified.requests; n++) {
    statuses.push((await fetch(`${baseUrl}/api/v2/buyer/advertisers`, { headers })).status);
  }
  if (statuses.at(-1) !== 429) throw new Error(`not refused after ${statuses.join()}`);
};

interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

/** The ID in `bx_ID_SECRET`. */
const idOf = (key: string): string => key.split('_')[1] ?? '';
const secretOf = (key: string): string => key.slice(key.indexOf('_', 3) + 1);

const CATCH_UP_MS_MAX = 30_000;

const untilCaughtUp = async (baseUrl: string): Promise<void> => {
  for (const startedAt = performance.now(); performance.now() - startedAt < CATCH_UP_MS_MAX;) {
    const answer = await fetch(`${baseUrl}/ready`);
    if (answer.status === 200 && /"lag(?:Events|Bytes)":0\b/.test(await answer.text())) return;
    await sleep(100);
  }
  throw new Error(`the read models did not catch up within ${CATCH_UP_MS_MAX} ms`);
};
