import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setAccountAccess } from '../../command/accounts/commands.ts';
import { accountRowsIn } from '../../projections/account-rows.ts';
import { findAccountNow } from '../../app/lookups/find-accounts.ts';
import { createRetiredKeys } from '../../command/accounts/retire-keys.ts';
import { admitUpload, grantOfToken } from '../../command/assets/admit-upload.ts';
import { createUploadTokens } from '../../command/assets/upload-token.ts';
import type { Installation } from '../../app/installation.ts';
import type { ApiKeyResource } from '../../domain/accounts/resource.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import { listAccounts } from '../../query/accounts/list-accounts.ts';
import { createAccount, createFirstAccount, createSellerAccount } from '../../app/create-account.ts';
import { allProjections } from '../../projections/all-projections.ts';
import { credentialsProjection } from '../../projections/credentials.ts';
import { openCheckpoint } from '../../projections/engine/checkpoint.ts';
import { commitBatch } from '../../projections/engine/commit-batch.ts';
import { resetReadModels } from '../../projections/engine/reset.ts';
import { verifyApiKey } from '../../query/accounts/verify-api-key.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { createSnapshotStore } from '../../shared/aggregate/snapshots.ts';
import { readConfig } from '../../app/config.ts';
import { comparePositions, START, type RecordedEvent } from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { createLog } from '../../app/log.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { apiOf, type Api } from '../support/api-client.ts';
import { exchange } from '../support/program.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/** After any interruption, the credential rows become equal to the accounts' streams. */

type NewKey = ApiKeyResource & { readonly key: string };
type Access = 'disabled' | 'enabled';

let database: TestDatabase;
let installation: Installation;
beforeAll(async () => {
  database = await createTestDatabase();
  installation = await openHere();
  await installation.migrate();
});
afterAll(async () => {
  await installation.close();
  await database.drop();
});

const openHere = (): Promise<Installation> =>
  openWithLongTimeouts(readConfig({ DATABASE_URL: database.url }), 'faults');

/** The state in the row and in the stream's last event. */
const standing = async (customerId: number): Promise<readonly [row: Access, stream: Access]> => {
  const { rows } = await installation.pool.query<{ disabled: boolean }>(
    'select disabled_at is not null as disabled from accounts where customer_id = $1',
    [customerId],
  );
  let stream: Access = 'enabled';
  for await (const { type } of installation.store.readStream(`account-${customerId}`)) {
    if (type === 'AccountDisabled') stream = 'disabled';
    if (type === 'AccountEnabled') stream = 'enabled';
  }
  return [rows[0]?.disabled === true ? 'disabled' : 'enabled', stream];
};

const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const startedAt = performance.now();
  while (!(await holds().catch(() => false))) {
    if (performance.now() - startedAt > 20_000) throw new Error(`never: ${what}`);
    await sleep(50);
  }
};

describe('disabling and enabling an account concurrently', () => {
  it.each([
    ['disabled', 'enabled'],
    ['enabled', 'disabled'],
  ] as const)(
    '%s writes its row after %s, which was decided later, has written its row',
    async (slow, fast) => {
      const { customerId } = await createAccount(installation, 'Interleaved');
      await setAccess(installation, customerId, fast);
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      let reached = (): void => undefined;
      const isReached = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const { store, pool } = installation;
      const late = {
        store,
        clock: systemClock,
        rows: accountRowsIn(
          new Proxy(pool, {
            get: (target, name: keyof typeof pool) =>
              name === 'query'
                ? async (...asked: readonly unknown[]) => {
                    reached();
                    await released;
                    return Reflect.apply(target.query, target, asked) as unknown;
                  }
                : target[name],
          }),
        ),
      };
      const first = setAccountAccess(late, customerId, slow);
      await isReached;
      await setAccess(installation, customerId, fast);
      release();
      await first;
      expect(await standing(customerId)).toEqual([fast, fast]);
    },
  );

  it("repeated in two processes: the row equals the stream's state", async () => {
    const other = await openHere();
    const accounts = await Promise.all(
      Array.from({ length: 10 }, (_, n) => createAccount(installation, `Both ${n}`)),
    );
    const seen = { disabled: 0, enabled: 0 };
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        accounts.flatMap(({ customerId }) => [
          setAccess(installation, customerId, 'disabled'),
          setAccess(other, customerId, 'enabled'),
        ]),
      );
      for (const { customerId } of accounts) {
        const [row, stream] = await standing(customerId);
        expect(row).toBe(stream);
        seen[row] += 1;
      }
    }
    await other.close();
    console.log(
      `100 concurrent pairs: ${seen.disabled} ended disabled, ${seen.enabled} enabled, all rows correct`,
    );
  });
});

describe("an operator's command killed between event and row", () => {
  it('the running service updates the rows: an account was disabled, a user was added', async () => {
    const account = await createAccount(installation, 'Killed');
    const { customerId, apiKey } = account;
    const killed = { DATABASE_URL: database.url, EXCHANGE_FAILPOINTS: 'after-append:1' };
    const added = await exchange(
      ['users', 'create', String(customerId), '--name', 'Mo', '--role', 'member'],
      killed,
    );
    const disabled = await exchange(['accounts', 'disable', String(customerId)], killed);
    expect([added.status, disabled.status]).toEqual([null, null]);
    expect(await standing(customerId)).toEqual(['enabled', 'disabled']);

    const supervisor = await startSupervisor(1, { DATABASE_URL: database.url });
    await supervisor.ready();
    const api = apiOf(`http://127.0.0.1:${supervisor.ports[0]}`, { Authorization: `Bearer ${apiKey}` });
    await until('refused', async () => (await api.get('/advertisers')).status === 401);
    expect(await standing(customerId)).toEqual(['disabled', 'disabled']);
    for await (const { customerId: id, users } of listAccounts(installation.pool)) {
      if (id === customerId) expect(users.map(({ name }) => name)).toEqual(['Administrator', 'Mo']);
    }
    await setAccess(installation, customerId, 'enabled');
    expect((await api.get('/advertisers')).status).toBe(200);
    await supervisor.stop();
  });

  it('an account whose creation was interrupted after its event and that was then disabled never appears enabled', async () => {
    const killed = await exchange(['accounts', 'create', '--name', 'Unseen'], {
      DATABASE_URL: database.url,
      EXCHANGE_FAILPOINTS: 'after-append:1',
    });
    expect([killed.status, killed.stdout]).toEqual([null, '']);
    const { rows } = await installation.pool.query<{ customerId: number }>(
      `select customer_id::float8 as "customerId" from api_keys k where not announced
         and not exists (select from accounts a where a.customer_id = k.customer_id)`,
    );
    expect(rows).toHaveLength(1);
    const [{ customerId } = { customerId: 0 }] = rows;
    const settings = { DATABASE_URL: database.url };
    expect((await exchange(['accounts', 'disable', String(customerId)], settings)).status).toBe(0);
    expect(await standing(customerId)).toEqual(['disabled', 'disabled']);
    for await (const event of installation.store.readStream(`account-${customerId}`)) {
      await inTransaction(installation.pool, (client) => credentialsProjection.apply(client, [event]));
      expect(await standing(customerId)).toEqual(['disabled', 'disabled']);
    }
    for await (const account of listAccounts(installation.pool)) {
      if (account.customerId === customerId) {
        expect(account).toMatchObject({ name: 'Unseen', status: 'DISABLED', users: [{ role: 'admin' }] });
      }
    }
  });

  it('an account whose creation was interrupted before its event does not exist: it is not listed and does not prevent a first account', async () => {
    const empty = await createTestDatabase();
    const settings = { DATABASE_URL: empty.url };
    const killed = await exchange(['accounts', 'create', '--name', 'Half'], {
      ...settings,
      EXCHANGE_FAILPOINTS: 'before-append:1',
    });
    expect([killed.status, killed.stdout]).toEqual([null, '']);
    expect((await exchange(['accounts', 'list', '--json'], settings)).stdout).toBe('');
    const here = await openWithLongTimeouts(readConfig(settings), 'faults');
    expect((await createFirstAccount(here))?.customerId).toBe(2);
    await here.pool.query(`update api_keys set created_at = now() - interval '48 hours'`);
    await createRetiredKeys({ ...here, clock: systemClock }).purge(1_000);
    const { rows } = await here.pool.query<{ left: string }>(
      `select 'account ' || customer_id as left from accounts union all select 'user ' || user_id from users
       union all select 'key of ' || customer_id from api_keys`,
    );
    expect(rows.map(({ left }) => left)).toEqual(['account 2', 'user 2-1', 'key of 2']);
    await here.close();
    await empty.drop();
  });
});

it('a seller account with rows of an older version becomes a seller account when the read model is rebuilt', async () => {
  const { customerId } = await createSellerAccount(installation, 'News desk', 1);
  const rows = async (): Promise<unknown> =>
    (
      await installation.pool.query(
        `select a.seller_id, u.role from accounts a join users u using (customer_id) where a.customer_id = $1`,
        [customerId],
      )
    ).rows;
  const events: RecordedEvent[] = [];
  for await (const event of installation.store.readStream(`account-${customerId}`)) events.push(event);
  await installation.pool.query('update accounts set seller_id = null where customer_id = $1', [customerId]);
  await installation.pool.query(`update users set role = 'admin' where customer_id = $1`, [customerId]);
  expect(await rows()).toEqual([{ seller_id: null, role: 'admin' }]);
  await inTransaction(installation.pool, async (client) => {
    await credentialsProjection.forget?.(client);
    await credentialsProjection.apply(client, events);
  });
  expect(await rows()).toEqual([{ seller_id: 1, role: 'seller' }]);
});

/** Uploads with a token that the service signed. @returns the answer's code */
const uploadTo = async ({ store, pool }: Installation, customerId: number): Promise<string> => {
  const tokens = createUploadTokens(async () => parseKeyRing(`k:${'A'.repeat(43)}`));
  const grant = { customerId, advertiserId: 1, uploadId: 'u', maxBytes: 1, mimeType: 'image/png' };
  const token = await tokens.issue({ ...grant, exp: Math.floor(systemClock.now() / 1_000) + 900 });
  const snapshots = createSnapshotStore(pool, createLog('silent'));
  const granted = await grantOfToken({ tokens, clock: systemClock }, 'u', token);
  return admitUpload({ store, snapshots, findAccountNow: findAccountNow(pool) }, granted, false).then(
    () => 'admitted',
    (error: unknown) => (error instanceof ApiError ? error.body.code : String(error)),
  );
};

describe('a killed rebuild that continues event by event', () => {
  it('refuses requests until all account events are applied', async () => {
    const own = await createTestDatabase();
    const here = await openWithLongTimeouts(readConfig({ DATABASE_URL: own.url }), 'faults');
    const open = await createAccount(here, 'Open');
    const closed = await createAccount(here, 'Closed');
    for (const access of ['disabled', 'enabled', 'disabled'] as const) {
      await setAccess(here, closed.customerId, access);
    }
    const head = await here.store.head();
    // The copy of a killed `read-models rebuild` belongs to the replaced log.
    await here.pool.query(
      `create schema copy_of_advertisers; insert into read_model_copies values ('advertisers', 'test')`,
    );
    await resetReadModels(here.pool, allProjections, head);
    const { rows: left } = await here.pool.query(
      `select from read_model_copies union all select from pg_namespace where nspname like 'copy\\_of%'`,
    );
    expect(left).toEqual([]);

    const verify = verifyApiKey(here.pool);
    const ask = ({ apiKey }: { readonly apiKey: string }): Promise<string> =>
      verify(apiKey, {}).then(
        ({ outcome }) => outcome,
        (error: unknown) => (error as Error).name,
      );
    const stranger = { apiKey: `${open.apiKey.slice(0, -1)}${open.apiKey.endsWith('A') ? 'B' : 'A'}` };
    const answers = (): Promise<readonly string[]> => Promise.all([open, closed, stranger].map(ask));
    const away = 'CredentialsIncompleteError';
    expect(await answers()).toEqual([away, away, 'rejected']);
    expect(await uploadTo(here, closed.customerId)).toBe('SERVICE_UNAVAILABLE');
    const stopped = new AbortController();
    const batches = here.store.subscribeToAll({
      after: START,
      filter: { categories: credentialsProjection.categories },
      batchSize: 1,
      signal: stopped.signal,
    });
    let looked = 0;
    for await (const batch of batches) {
      const checkpoint = await openCheckpoint(here.pool, credentialsProjection.name);
      await commitBatch(here.pool, credentialsProjection, checkpoint, batch);
      if (comparePositions(batch.position, head) >= 0) break;
      expect(await answers()).toEqual([away, away, 'rejected']);
      looked += 1;
    }
    stopped.abort();
    // Two accounts were created with a key, and disabled, enabled and disabled again. The state was checked after each
    // event except the last.
    expect(looked).toBeGreaterThanOrEqual(6);
    expect(await answers()).toEqual(['verified', 'rejected', 'rejected']);
    expect(await uploadTo(here, closed.customerId)).toBe('UNAUTHORIZED');
    await here.close();
    await own.drop();
  });
});

describe('a process killed while it creates a key', () => {
  let supervisor: Supervisor | undefined;
  afterAll(() => supervisor?.stop());

  /** The service dies at the failpoint during a request for a key, and restarts. */
  const askAndDie = async (failpoint: string, headers: Readonly<Record<string, string>>) => {
    const { apiKey, customerId } = await createAccount(installation, failpoint);
    await supervisor?.stop();
    supervisor = await startSupervisor(1, {
      DATABASE_URL: database.url,
      EXCHANGE_FAILPOINTS: `${failpoint}:1`,
    });
    await supervisor.ready();
    supervisor.calm();
    const api = apiOf(`http://127.0.0.1:${supervisor.ports[0]}`, { Authorization: `Bearer ${apiKey}` });
    const outcome = await api.post('/api-keys', { name: 'Killed' }, headers).catch(() => 'cut');
    expect(outcome).toBe('cut');
    await until('died', async () => supervisor?.crashes === 1);
    await supervisor.ready();
    return { api, customerId };
  };
  const keysOf = async (api: Api): Promise<readonly ApiKeyResource[]> =>
    (await api.get<ApiKeyResource[]>('/api-keys')).body.data;
  const rowsOf = async (customerId: number): Promise<readonly boolean[]> => {
    const { rows } = await installation.pool.query<{ announced: boolean }>(
      'select announced from api_keys where customer_id = $1 order by created_at',
      [customerId],
    );
    return rows.map(({ announced }) => announced);
  };
  const works = async (key: string): Promise<boolean> => {
    const api = apiOf(`http://127.0.0.1:${supervisor?.ports[0]}`, { Authorization: `Bearer ${key}` });
    return (await api.get('/advertisers')).status === 200;
  };

  it('before its event: the key does not exist, and the row is deleted after two days', async () => {
    const { api, customerId } = await askAndDie('before-append', {});
    expect(await keysOf(api)).toHaveLength(1);
    expect(await rowsOf(customerId)).toEqual([true, false]);
    const retired = createRetiredKeys({ ...installation, clock: systemClock });
    const age = (hours: number) =>
      installation.pool.query(
        `update api_keys set created_at = now() - make_interval(hours => $1) where customer_id = $2`,
        [hours, customerId],
      );
    await age(47);
    await retired.purge(1_000);
    expect(await rowsOf(customerId)).toHaveLength(2);
    await age(48);
    await retired.purge(1_000);
    expect(await rowsOf(customerId)).toEqual([true]);
  });

  it('before its event: the repeated request creates the key, also after its row was deleted', async () => {
    const headers = { 'Idempotency-Key': 'killed-before-the-event' };
    const { api, customerId } = await askAndDie('before-append', headers);
    expect(await keysOf(api)).toHaveLength(1);
    await installation.pool.query(
      `update api_keys set created_at = created_at - interval '3 days' where customer_id = $1`,
      [customerId],
    );
    await createRetiredKeys({ ...installation, clock: systemClock }).purge(1_000);
    const send = () => api.post<NewKey>('/api-keys', { name: 'Killed' }, headers);
    await until('free', async () => (await send()).status === 201);
    const again = await send();
    expect(await works(again.body.data.key)).toBe(true);
    expect((await keysOf(api)).map(({ name }) => name)).toEqual(['Killed', 'First key']);
  });

  it('after its event: the key is listed, so that its owner can revoke it, and the repeated request returns it', async () => {
    const headers = { 'Idempotency-Key': 'killed-behind-the-event' };
    const { api, customerId } = await askAndDie('after-append', headers);
    await until('listed', async () => (await keysOf(api)).length === 2);
    expect(await rowsOf(customerId)).toEqual([true, true]);
    const send = () => api.post<NewKey>('/api-keys', { name: 'Killed' }, headers);
    await until('free', async () => (await send()).status === 201);
    const { id, key } = (await send()).body.data;
    expect(await works(key)).toBe(true);
    expect((await keysOf(api))[0]?.id).toBe(id);
    expect((await api.delete(`/api-keys/${id}`)).status).toBe(204);
    expect(await works(key)).toBe(false);
  });
});
