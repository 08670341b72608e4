import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { scopeOf } from '../../command/workers/syndication/audience-scope.ts';
import { findAudienceMembers } from '../../app/lookups/find-members.ts';
import { createAudienceParts } from '../../command/workers/syndication/audience-delivery.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { SyndicationRecord } from '../../domain/syndication/syndication.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import { forgetSubjects, withForgetting, type ForgetResult } from '../../cli/forget.ts';
import { audiencesProjection } from '../../projections/audiences.ts';
import { rebuildOnline, verifyOnline } from '../../projections/engine/copy/online-rebuild.ts';
import { UnprojectableEventError, type Projection } from '../../projections/engine/projection.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { createLog } from '../../app/log.ts';
import { personalParts } from '../../domain/personal-data/split-personal-data.ts';
import { MissingKeysError, type PersonalKeys } from '../../shared/personal-data/personal-keys.ts';
import { createSealedStore, openParts } from '../../shared/personal-data/sealed-store.ts';
import { exchange } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';

/** After forgetting, personal data is neither in a table nor readable in the log. */

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  advertiserId = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
  await account.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
    account: { account_id: String(advertiserId) },
    event_sources: [{ event_source_id: 'shop' }],
  });
});
afterAll(() => service.stop());

const hash = (n: number): string => n.toString(16).padStart(64, 'a');
const alice = { externalId: 'alice-id', hashedEmail: hash(0xa1), hashedPhone: hash(0xa2) };
const bob = { externalId: 'bob-id', hashedEmail: hash(0xb1) };
const carol = { externalId: 'carol-id', hashedPhone: hash(0xc1) };

const sync = async (audienceId: string, add: readonly object[], remove: readonly object[] = []) => {
  const body = { audiences: [{ audienceId, add, remove }] };
  expect((await account.api.post(`/advertisers/${advertiserId}/audiences/sync`, body)).status).toBe(202);
};

const counts = async (): Promise<Readonly<Record<string, number>>> => {
  const answer = await account.api.get<{
    readonly audiences: readonly { readonly audienceId: string; readonly uploadedCount: number }[];
  }>(`/advertisers/${advertiserId}/audiences`);
  return Object.fromEntries(
    answer.body.data.audiences.map(({ audienceId, uploadedCount }) => [audienceId, uploadedCount]),
  );
};

const convert = async (events: readonly object[]) => {
  const eventTime = new Date().toISOString();
  const answer = await account.api.post<{ accepted: number; duplicates: number }>(
    '/event-sources/shop/events',
    {
      events: events.map((event) => ({ eventTime, ...event })),
    },
  );
  return answer.body.data;
};

/** Tables of any schema that contain one of the texts. */
const tablesWith = async (needles: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await service.pool.query<{ name: string }>(
    `select case when schemaname = 'public' then tablename else schemaname || '.' || tablename end as name
     from pg_tables where schemaname <> 'information_schema' and schemaname not like 'pg\\_%' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await service.pool.query<{ hits: number }>(
      `select count(*)::int as hits from ${name} t where t::text like any ($1)`,
      [needles.map((needle) => `%${needle}%`)],
    );
    if ((hits[0]?.hits ?? 0) > 0) found.push(name);
  }
  return found;
};

/** All readable texts of the log, also those that only the operator can decrypt. */
const readableLog = async (): Promise<string> => {
  const { store, sealedStore, personalKeys } = service.installation;
  const texts = [JSON.stringify(await store.readAll({ after: START, limit: 10_000 }))];
  for (const event of await sealedStore.readAll({ after: START, limit: 10_000 })) {
    texts.push(JSON.stringify(await openParts(personalKeys, event)));
  }
  return texts.join('\n');
};

const dump = async (client: Pick<Client, 'query'>): Promise<string> => {
  const tables = ['audiences', 'audience_members', 'audience_removals', 'audience_batches'];
  const rows = [];
  for (const table of tables) rows.push((await client.query(`select * from ${table} order by 1, 2, 3`)).rows);
  return JSON.stringify(rows);
};

/** The live and the rebuilt read model. */
const liveAndRebuilt = async (): Promise<readonly [string, string]> => {
  await counts();
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    const live = await dump(client);
    await client.query(`truncate ${audiencesProjection.tables.join(', ')}`);
    const log = await service.store.readAll({ after: START, limit: 10_000 });
    await audiencesProjection.apply(
      client,
      log.filter(({ stream }) => /^(audience|audienceBatch|task)-/.test(stream)),
    );
    return [live, await dump(client)];
  } finally {
    await client.query('rollback');
    await client.end();
  }
};

const settings = (): Record<string, string> => ({
  NODE_ENV: 'test',
  DATA_DIR: service.dataDir,
  ...service.stores,
  SECRET_KEYS: `test:${'A'.repeat(43)}`,
});

const forget = (
  subjects: readonly string[],
  keys: Partial<PersonalKeys> = {},
  customerId = account.customerId,
): Promise<ForgetResult> => {
  const { installation } = service;
  const personalKeys = { ...installation.personalKeys, ...keys };
  const log = createLog('silent');
  return withForgetting(
    { ...installation, personalKeys },
    readConfig(settings()),
    customerId,
    log,
    (forgetting) => forgetSubjects(forgetting, subjects),
  );
};

const recordOf = (resourceId: string): object => ({
  customerId: account.customerId,
  advertiserId,
  recordId: resourceIdOf('record', account.customerId, advertiserId, resourceId),
  generation: 1,
  resourceId,
  atAgent: { is: 'NOTHING' },
});
const requestOf = (audience_id: string, revision: number): object => ({
  account: { account_id: 'acct' },
  audiences: [{ audience_id, revision }],
});

it('deletes all data of a person and keeps that of others', async () => {
  await sync('vip', [alice, bob]);
  await sync('vip', [{ ...alice, hashedPhone: hash(0xa3) }]);
  await sync('mail', [{ hashedEmail: alice.hashedEmail }, { ...alice, externalId: 'alice-two' }, carol]);
  await sync('left', [alice, carol]);
  await sync('left', [], [{ externalId: alice.externalId }]);
  const bought = [
    { eventId: 'e-1', userMatch: { hashedEmail: alice.hashedEmail }, orderId: 'order-alice' },
    { eventId: 'e-2', userMatch: { hashedEmail: bob.hashedEmail }, orderId: 'order-bob' },
    { eventId: 'e-3' },
  ];
  expect(await convert(bought)).toMatchObject({ accepted: 3 });
  expect(await counts()).toEqual({ vip: 2, mail: 3, left: 1 });
  const traces = [alice.externalId, alice.hashedEmail, hash(0xa2), hash(0xa3), 'alice-two', 'order-alice'];
  // A delivery that has reached one of her ids.
  const parts = createAudienceParts(service.pool, findAudienceMembers(service.pool), 2);
  const underWay = { ...recordOf('mail'), request: requestOf('mail', 0) } as unknown as SyndicationRecord;
  const sent: string[] = [];
  const deliver = async (partsMax: number): Promise<void> => {
    let count = 0;
    for await (const { request, taken } of parts.of(underWay)) {
      sent.push(...(JSON.stringify(request).match(/(?<="external_id":")[^"]+/g) ?? []));
      if ((count += 1) === partsMax) return;
      await taken();
    }
  };
  await deliver(2);
  expect(sent).toEqual([alice.hashedEmail, 'alice-two', carol.externalId]);
  // A copy of these tables from a killed run.
  const killed = await exchange(['read-models', 'rebuild', 'audiences'], {
    ...settings(),
    EXCHANGE_FAILPOINTS: 'copy-before-switch:1',
  });
  expect(killed.status).toBe(null);
  // Everything is already encrypted, except the rows for delivery.
  const inClear = ['audience_members', 'audience_removals'];
  const inCopy = inClear.map((table) => `copy_of_audiences.${table}`);
  expect(await tablesWith(traces)).toEqual([...inClear, 'syndication_deliveries', ...inCopy].sort());
  const before = await readableLog();
  for (const trace of traces) expect(before).toContain(trace);

  const done = await forget([alice.hashedEmail.toUpperCase()]);
  expect(done).toMatchObject({ scope: 'subjects', places: 7, members: 3, inClear: 0 });

  expect(await tablesWith(traces)).toEqual([]);
  expect((await service.pool.query('select from read_model_copies')).rowCount).toBe(0);
  const after = await readableLog();
  for (const trace of traces) expect(after).not.toContain(trace);
  for (const other of [bob.hashedEmail, carol.hashedPhone, 'order-bob']) expect(after).toContain(other);
  expect(await counts()).toEqual({ vip: 1, mail: 1, left: 1 });
  const [live, rebuilt] = await liveAndRebuilt();
  expect(rebuilt).toBe(live);

  // Counted conversions are not counted again.
  expect(await convert(bought)).toMatchObject({ accepted: 0, duplicates: 3 });
  // Agents receive the delivered audiences again.
  for (const resourceId of ['vip', 'mail', 'left']) {
    const atAgent = { is: 'EXACTLY', older: { audiences: [{ revision: 0 }] } };
    expect(
      await scopeOf(
        { store: service.store, clock: systemClock },
        { ...recordOf(resourceId), atAgent } as unknown as SyndicationRecord,
        false,
      ),
    ).toEqual({ anew: true });
  }
  // Running work continues.
  await deliver(2);
  expect(sent.slice(3)).toEqual([carol.externalId]);
  await parts.forget(underWay);
  const audit = await service.eventsOf(`personalData-${account.customerId}`);
  expect(audit.map(({ type, data }) => [type, data['places']])).toEqual([['PersonalDataForgotten', 7]]);
  expect(await forget([alice.hashedEmail])).toEqual({ scope: 'subjects', places: 0, members: 0, inClear: 0 });
});

it('finds persons by their universal ids, also if they have no other id', async () => {
  const value = 'KlKKKfE66A7xBnL/DsT1UV/Q+V/r3xwKL89Wp7hpNllxmNkPaF8vdzenDvfoatn6';
  const dave = { uids: [{ type: 'uid2', value }] };
  await sync('uids', [bob, dave]);
  await sync('uids-of-two', [{ externalId: 'dave-id', hashedPhone: hash(0xd1), ...dave }]);
  await sync('uids-left', [bob, dave]);
  await sync('uids-left', [], [dave]);
  expect(await counts()).toMatchObject({ uids: 2, 'uids-of-two': 1, 'uids-left': 1 });
  expect(await tablesWith([value])).toEqual(['audience_members', 'audience_removals']);
  expect(await readableLog()).toContain(value);
  expect(await forget([value])).toMatchObject({ places: 4, members: 2, inClear: 0 });
  expect(await tablesWith([value, 'dave-id', hash(0xd1)])).toEqual([]);
  for (const trace of [value, 'dave-id', hash(0xd1)]) expect(await readableLog()).not.toContain(trace);
  expect(await counts()).toMatchObject({ uids: 1, 'uids-of-two': 0, 'uids-left': 1 });
  const [live, rebuilt] = await liveAndRebuilt();
  expect(rebuilt).toBe(live);
  // An opaque id is stored unchanged, even if it looks like a hash.
  const inCapitals = 'ABCDEF01'.repeat(8);
  await sync('uids', [{ uids: [{ type: 'other', value: inCapitals }] }]);
  expect(await forget([inCapitals])).toMatchObject({ places: 1, members: 1, inClear: 0 });
  expect(await tablesWith([inCapitals])).toEqual([]);
  expect(await readableLog()).not.toContain(inCapitals);
  await sync('uids', [], [bob]);
  const audiences = ['uids', 'uids-of-two', 'uids-left'].map((audienceId) => ({ audienceId, delete: true }));
  await account.api.post(`/advertisers/${advertiserId}/audiences/sync`, { audiences });
});

it('resumes after an interruption, and stores persons that are sent again', async () => {
  // She has given a new consent.
  await sync('vip', [alice, carol]);
  expect(await counts()).toMatchObject({ vip: 3 });
  const [live, rebuilt] = await liveAndRebuilt();
  expect(rebuilt).toBe(live);

  const { personalKeys } = service.installation;
  const crash: PersonalKeys['puncture'] = async (customerId, places) => {
    await personalKeys.puncture(customerId, places);
    throw new Error('killed');
  };
  await expect(forget([carol.hashedPhone], { puncture: crash })).rejects.toThrow('killed');
  expect(await tablesWith([carol.externalId])).toEqual(['audience_members']);
  // She is sent again during the forgetting.
  let sent: Promise<void> | undefined;
  const meanwhile: PersonalKeys['puncture'] = async (customerId, places) => {
    await personalKeys.puncture(customerId, places);
    await (sent ??= sync('mail', [{ ...carol, hashedEmail: hash(0xc2) }]));
  };
  // Another process copies the rows, but cannot switch to the copy.
  let go = (): void => undefined;
  const forgotten = new Promise<void>((resolve) => (go = resolve));
  let asked = 0;
  const head = async () => {
    if ((asked += 1) === 2) await forgotten;
    return service.store.head();
  };
  const options = rebuildOptions(service, { store: { ...service.store, head } });
  const copied = expect(rebuildOnline(options, audiencesProjection)).rejects.toThrow('dropped meanwhile');
  expect(await forget([carol.hashedPhone], { puncture: meanwhile })).toMatchObject({ members: 3 });
  go();
  await copied;
  expect(await tablesWith([carol.externalId, carol.hashedPhone, hash(0xc2)])).toEqual([]);
  expect(await tablesWith([alice.hashedEmail])).toEqual(['audience_members']);
  const rows = await liveAndRebuilt();
  expect(rows[1]).toBe(rows[0]);
  // Historical sizes stay unchanged and are not a difference.
  const differing = async (projection: Projection) =>
    (await verifyOnline(options, projection)).tables
      .filter(({ missing, surplus, changed }) => missing + surplus + changed > 0)
      .map(({ table }) => table);
  expect(await differing(audiencesProjection)).toEqual([]);
  const { audience_sizes: _, ...compared } = audiencesProjection.compared ?? {};
  expect(await differing({ ...audiencesProjection, compared })).toEqual(['audience_sizes']);
});

it('distinguishes missing keys from removed keys', async () => {
  const { sealedStore, personalKeys } = service.installation;
  await expect(personalKeys.of(account.customerId, randomUUID())).rejects.toThrow(MissingKeysError);
  const lost: PersonalKeys = {
    ...personalKeys,
    of: (customerId) => personalKeys.of(customerId, randomUUID()),
  };
  const log = await createSealedStore(sealedStore, lost, personalParts).readAll({
    after: START,
    limit: 1_000,
  });
  const stored = log.filter(({ type }) => type === 'AudienceMembersStored');
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  await expect(audiencesProjection.apply(client, stored)).rejects.toThrow(UnprojectableEventError);
  await client.end();
});

it('leaves no personal data when an account is forgotten', async () => {
  const words = ['forget', '--account', String(account.customerId), '--json'];
  const refused = await exchange(words, settings());
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('must be disabled first')]);
  await setAccess(service.installation, account.customerId, 'disabled');
  const done = await exchange(words, settings());
  expect([done.status, JSON.parse(done.stdout)]).toEqual([
    0,
    { forgettingId: expect.any(String), scope: 'account', places: 0, members: 2, inClear: 0 },
  ]);
  const traces = [alice, bob].flatMap((person) => Object.values(person));
  expect(await tablesWith([...traces, 'order-bob'])).toEqual([]);
  const log = await readableLog();
  for (const trace of [...traces, 'order-bob']) expect(log).not.toContain(trace);
  await setAccess(service.installation, account.customerId, 'enabled');
  expect(await counts()).toEqual({ vip: 0, mail: 0, left: 0 });
  const [live, rebuilt] = await liveAndRebuilt();
  expect(rebuilt).toBe(live);
  // New data is encrypted with other keys.
  await sync('vip', [bob]);
  expect(await counts()).toMatchObject({ vip: 1 });
});

// This test is last, because a rebuild would restore these rows.
it('reports the number of unencrypted events of earlier versions', async () => {
  const { customerId } = await service.openAccount();
  const { sealedStore } = service.installation;
  const dave = ['dave-id', hash(0xd1), null];
  const metadata = {
    customerId,
    actor: 'api-key:1',
    requestId: 'r',
    correlationId: 'r',
    causationId: randomUUID(),
    occurredAt: new Date().toISOString(),
    schemaVersion: 1,
  };
  const data = { part: 0, add: [dave], remove: [] };
  const event = { id: randomUUID(), type: 'AudienceMembersStored', data, metadata };
  await sealedStore.append(`audienceBatch-${customerId}-${randomUUID()}`, [event], 'no-stream');
  expect(await forget([hash(0xd1)], {}, customerId)).toMatchObject({ places: 0, inClear: 1 });
  expect(await tablesWith(['dave-id'])).toEqual(['events']);
});
