import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { conflict, invalid, refusalOf, untilDefinite, type ApiAnswer } from '../support/api-client.ts';
import { rawExchange } from '../support/raw-http.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Idempotency keys on every write (specification, Other bounds). */

let service: RunningService;
let account: TestAccount;
/** A new key for every test. */
let key: string;
beforeAll(async () => {
  service = await startRunningService();
  // The first call of each kind is the slowest. No test measures it.
  const { api } = await service.openAccount();
  expect(
    (await untilDefinite(() => api.post('/advertisers', { name: 'First' }, withKey(randomUUID())))).status,
  ).toBe(201);
  expect((await untilDefinite(() => api.get('/advertisers'))).status).toBe(200);
});
beforeEach(async () => {
  account = await service.openAccount();
  key = randomUUID();
});
afterAll(() => service.stop());

const withKey = (value = key): Readonly<Record<string, string>> => ({ 'Idempotency-Key': value });
const create = (
  body: unknown = { name: 'Acme' },
  headers = withKey(),
): Promise<ApiAnswer<AdvertiserResource>> => account.api.post('/advertisers', body, headers);
const advertiser = async (): Promise<AdvertiserResource> =>
  (await create({ name: 'Acme' }, withKey(randomUUID()))).body.data;
const eventTypes = async (): Promise<readonly string[]> =>
  (await service.eventsOfAccount(account)).map(({ type }) => type).filter((type) => type.startsWith('Adv'));
const isReplay = ({ headers }: ApiAnswer<unknown>): boolean => headers.get('idempotent-replayed') === 'true';
const comparable = ({ status, text, headers }: ApiAnswer<unknown>) => ({
  status,
  text,
  type: headers.get('content-type'),
});
const reused = [409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key'];

/** Asserts that the second answer is a replay of the first, byte for byte. */
const expectReplay = (first: ApiAnswer<unknown>, second: ApiAnswer<unknown>): void => {
  expect([isReplay(first), isReplay(second)]).toEqual([false, true]);
  expect(comparable(second)).toEqual(comparable(first));
  expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
};

describe('a repeated request', () => {
  it('to create returns the same 201 and creates one advertiser', async () => {
    const first = await create({
      name: 'Acme 😀',
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1 } }],
    });
    expect(first.status).toBe(201);
    for (let n = 0; n < 3; n++) {
      expectReplay(
        first,
        await create({ name: 'Acme 😀', frequencyCaps: [{ max_impressions: 1, window: { interval: 1 } }] }),
      );
    }
    expect(await eventTypes()).toEqual(['AdvertiserCreated']);
    expect((await account.api.get('/advertisers')).body.data).toEqual([first.body.data]);
  });

  it('to update returns the same 200 with one event', async () => {
    const { id } = await advertiser();
    const update = () => account.api.put(`/advertisers/${id}`, { name: 'New' }, withKey());
    const first = await update();
    expect(first.status).toBe(200);
    expectReplay(first, await update());
    expect(await eventTypes()).toEqual(['AdvertiserCreated', 'AdvertiserUpdated']);
  });

  it('to archive returns the same 204 and does not undo later changes', async () => {
    const { id } = await advertiser();
    const archive = () => account.api.delete(`/advertisers/${id}`, withKey());
    const first = await archive();
    expect(first.status).toBe(204);
    await account.api.post(`/advertisers/${id}/restore`);
    expectReplay(first, await archive());
    expect((await account.api.get<AdvertiserResource>(`/advertisers/${id}`)).body.data.status).toBe('ACTIVE');
  });

  it('to restore returns the same 200, although the advertiser is already active', async () => {
    const { id } = await advertiser();
    await account.api.delete(`/advertisers/${id}`);
    const restore = () => account.api.post(`/advertisers/${id}/restore`, undefined, withKey());
    const first = await restore();
    expect(first.status).toBe(200);
    expectReplay(first, await restore());
  });

  it('returns the first answer, even if the advertiser has changed since', async () => {
    const first = await create();
    await account.api.put(`/advertisers/${first.body.data.id}`, { name: 'Changed since' });
    await account.api.delete(`/advertisers/${first.body.data.id}`);
    expectReplay(first, await create());
  });

  it('without an effect is replayed, too', async () => {
    const { id } = await advertiser();
    const update = () => account.api.put(`/advertisers/${id}`, {}, withKey());
    expectReplay(await update(), await update());
  });

  it('without a key is a new request', async () => {
    const ids = [await create(undefined, {}), await create(undefined, {})].map(({ body }) => body.data.id);
    expect(new Set(ids).size).toBe(2);
  });

  it('with the same members in another order or formatting is the same', async () => {
    const first = await create('{"name":"Acme","labels":{"b":[],"a":["1"]},"sandbox":false}');
    expectReplay(
      first,
      await create(' {"sandbox" : false, "labels":{"a":["\\u0031"], "b":[]},\n"name":"Acme"}'),
    );
  });

  it('is replayed when its answer has the maximum length', async () => {
    // Each needs six characters of JSON.
    const values = Array.from({ length: 25 }, (_, n) => '\u0001'.repeat(198) + n);
    const exclusions = Array.from({ length: 42 }, (_, n) => '\u0001'.repeat(495) + n);
    const longest = {
      name: '\u0001'.repeat(200),
      description: '\u0001'.repeat(2_000),
      labels: { a: values },
      controls: { exclusions },
    };
    const first = await create(longest);
    expect([first.status, first.text.length > 160_000 || first.text]).toEqual([201, true]);
    await account.api.put(`/advertisers/${first.body.data.id}`, { name: 'Changed since', labels: {} });
    expectReplay(first, await create(longest));
  });

  it('of an advertiser that was changed hundreds of times since returns the first answer', async () => {
    const { id } = await advertiser();
    const rename = (name: string, headers = {}) => account.api.put(`/advertisers/${id}`, { name }, headers);
    for (let n = 0; n < 150; n++) await rename(`Before ${n}`);
    const first = await rename('Mine', withKey());
    for (let n = 0; n < 300; n++) await rename(`After ${n}`);
    // Its answer is lost and its lease has ended: the retry runs the command again.
    await service.pool.query(
      `update idempotency_keys set completed_at = null, status = null, body = null, lease_until = now()
       where completed_at is not null`,
    );
    const again = await rename('Mine', withKey());
    expectReplay(first, again);
    expect((await eventTypes()).length).toBe(452);
    const { rows } = await service.pool.query('select from snapshots where stream like $1', [`%-${id}`]);
    expect(rows).toHaveLength(1);
  });

  it('reads ignore keys', async () => {
    const read = () => account.api.get('/advertisers', withKey());
    expect([isReplay(await read()), isReplay(await read())]).toEqual([false, false]);
    expect((await account.api.get('/advertisers', withKey('x'))).status).toBe(200);
  });
});

describe('a repeat whose first answer is lost', () => {
  /** Writes of every resource type with its own streams. @returns a function that sends the write */
  const writes: Readonly<Record<string, () => Promise<() => Promise<ApiAnswer<unknown>>>>> = {
    'an update': async () => {
      const { id } = await advertiser();
      return () => account.api.put(`/advertisers/${id}`, { name: 'New' }, withKey());
    },
    'an archiving': async () => {
      const { id } = await advertiser();
      return () => account.api.delete(`/advertisers/${id}`, withKey());
    },
    'a new campaign': async () => {
      const { id } = await advertiser();
      return () => account.api.post('/campaigns', { advertiserId: id, name: 'Spring' }, withKey());
    },
    'a new creative': async () => {
      const { id } = await advertiser();
      const { body } = await account.api.post<{ id: string }>('/campaigns', { advertiserId: id, name: 'C' });
      const creative = { name: 'One', formatKind: 'image' };
      return () => account.api.post(`/campaigns/${body.data.id}/creatives`, creative, withKey());
    },
    'a sync': async () => {
      const { id } = await advertiser();
      const sync = {
        account: { account_id: String(id) },
        event_sources: [{ event_source_id: 'site' }, { event_source_id: 'app' }],
      };
      return () => account.api.post(`/advertisers/${id}/event-sources/sync`, sync, withKey());
    },
    'an audience': async () => {
      const { id } = await advertiser();
      const member = { externalId: '1', hashedEmail: 'a'.repeat(64) };
      const sync = { audiences: [{ audienceId: 'a', add: [member] }] };
      return () => account.api.post(`/advertisers/${id}/audiences/sync`, sync, withKey());
    },
    'conversion events': async () => {
      const { id } = await advertiser();
      const sync = { account: { account_id: String(id) }, event_sources: [{ event_source_id: `e-${id}` }] };
      await account.api.post(`/advertisers/${id}/event-sources/sync`, sync);
      const events = [{ eventId: '1', eventTime: new Date().toISOString() }];
      return () => account.api.post(`/event-sources/e-${id}/events`, { events }, withKey());
    },
    'an API key': async () => () => account.api.post('/api-keys', { name: 'Another' }, withKey()),
    'a connection': async () => () =>
      account.api.post('/creative-engines/1/connections', { apiKey: 'sbx_one-two-three' }, withKey()),
  };

  /** Without name claims: a repeat that is not recognised claims the name of a creative again. */
  const eventIds = async (): Promise<readonly string[]> =>
    (await service.eventsOfAccount(account))
      .filter(({ type }) => type !== 'CreativeNameClaimed')
      .map(({ id }) => id);

  it.each(Object.keys(writes))('of %s that was never completed is recognised', async (what) => {
    const send = (await writes[what]?.()) ?? (() => create());
    const first = await untilDefinite(send);
    expect([first.text, first.status < 300]).toEqual([first.text, true]);
    const before = await eventIds();
    await service.pool.query(
      `update idempotency_keys set completed_at = null, status = null, body = null, lease_until = now()
       where key = $1`,
      [key],
    );
    expectReplay(first, await untilDefinite(send));
    expect(await eventIds()).toEqual(before);
    expectReplay(first, await untilDefinite(send));
  });

  it.each(Object.keys(writes))('of %s whose claim is lost is recognised', async (what) => {
    const send = (await writes[what]?.()) ?? (() => create());
    const first = await untilDefinite(send);
    expect([first.text, first.status < 300]).toEqual([first.text, true]);
    const before = await eventIds();
    await service.pool.query('delete from idempotency_keys where key = $1', [key]);
    expectReplay(first, await untilDefinite(send));
    expect(await eventIds()).toEqual(before);
  });

  it('is a first try if the first one ended before it had an effect', async () => {
    const { id } = await advertiser();
    const fingerprint = fingerprintOf({
      method: 'put',
      path: '/api/v2/buyer/advertisers/{id}',
      pathValues: { id: String(id) },
      body: { name: 'New' },
    });
    await service.pool.query(
      `insert into idempotency_keys (scope, key, fingerprint, reserved, lease_until)
       values ($1, $2, $3, '{}', now())`,
      [account.customerId, key, fingerprint],
    );
    const update = () => account.api.put(`/advertisers/${id}`, { name: 'New' }, withKey());
    const second = await update();
    expect([second.status, isReplay(second)]).toEqual([200, false]);
    expectReplay(second, await update());
  });
});

describe('a key', () => {
  it.each(['a'.repeat(16), 'a'.repeat(255), 'A-Z_a.z:0-9------'])('is valid: %.20s', async (good) => {
    const first = await create(undefined, withKey(good));
    expect(first.status).toBe(201);
    expectReplay(first, await create(undefined, withKey(good)));
  });

  it.each([
    'a'.repeat(15),
    'a'.repeat(256),
    '',
    ...' !"#$%&\'()*+,/;<=>?@[\\]^`{|}~é'.split('').map((character) => `aaaaaaaa${character}aaaaaaaa`),
  ])('is refused: %.20j', async (bad) => {
    expect(refusalOf(await create(undefined, withKey(bad)))).toEqual(invalid('Idempotency-Key'));
    expect(await eventTypes()).toEqual([]);
  });

  it('is refused when it is sent twice', async () => {
    const { first } = await rawExchange(
      service.port,
      `DELETE /api/v2/buyer/advertisers/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.apiKey}\r\n` +
        `Idempotency-Key: ${key}\r\nIdempotency-Key: ${key}\r\n\r\n`,
    );
    expect([first.status, JSON.parse(first.body)]).toMatchObject([
      400,
      { error: { field: 'Idempotency-Key' } },
    ]);
  });

  it('is independent of other accounts', async () => {
    const first = await create();
    account = await service.openAccount();
    const second = await create();
    expect([second.status, isReplay(second)]).toEqual([201, false]);
    expect(second.body.data.id).not.toBe(first.body.data.id);
  });

  it('is case-sensitive', async () => {
    const first = await create(undefined, withKey('case-sensitive-key'));
    const second = await create(undefined, withKey('CASE-sensitive-key'));
    expect(second.body.data.id).not.toBe(first.body.data.id);
  });
});

describe('a key of another request', () => {
  it.each([
    ['another value', { name: 'Other', channels: ['ctv'] }],
    ['another order in a list', { name: 'Acme', channels: ['display', 'ctv'] }],
    ['one member less', { name: 'Acme' }],
    ['an additional member with its default', { name: 'Acme', channels: ['ctv'], sandbox: false }],
    ['an additional unknown member', { name: 'Acme', channels: ['ctv'], includeBrand: true }],
  ])('is refused: %s', async (_what, body) => {
    const first = await create({ name: 'Acme', channels: ['ctv'] });
    expect(refusalOf(await create(body))).toEqual(reused);
    expect(await eventTypes()).toEqual(['AdvertiserCreated']);
    expectReplay(first, await create({ name: 'Acme', channels: ['ctv'] }));
  });

  it('is refused: null is not the same as absent', async () => {
    const { id } = await advertiser();
    await account.api.put(`/advertisers/${id}`, { description: null }, withKey());
    expect(refusalOf(await account.api.put(`/advertisers/${id}`, {}, withKey()))).toEqual(reused);
  });

  it('is refused: another advertiser, method or route', async () => {
    const [one, other] = [await advertiser(), await advertiser()];
    await account.api.put(`/advertisers/${one.id}`, { name: 'New' }, withKey());
    for (const answer of [
      await account.api.put(`/advertisers/${other.id}`, { name: 'New' }, withKey()),
      await account.api.delete(`/advertisers/${one.id}`, withKey()),
      await account.api.post(`/advertisers/${one.id}/restore`, { name: 'New' }, withKey()),
      await create({ name: 'New' }),
    ]) {
      expect(refusalOf(answer)).toEqual(reused);
    }
  });
});

describe('a key stays free after a refusal with', () => {
  it('400', async () => {
    expect((await create({ name: '' })).status).toBe(400);
    expect((await create('{')).status).toBe(400);
    expect((await create()).status).toBe(201);
  });

  it('401', async () => {
    const stranger = { ...withKey(), Authorization: 'Bearer unknown' };
    expect((await account.api.post('/advertisers', { name: 'Acme' }, stranger)).status).toBe(401);
    expect(isReplay(await create())).toBe(false);
  });

  it('404, also for another request', async () => {
    expect((await account.api.delete('/advertisers/2147483647', withKey())).status).toBe(404);
    expect((await create()).status).toBe(201);
  });

  it('409', async () => {
    const { id } = await advertiser();
    const update = () => account.api.put(`/advertisers/${id}`, { name: 'New' }, withKey());
    await account.api.delete(`/advertisers/${id}`);
    expect(refusalOf(await update())).toEqual(conflict());
    await account.api.post(`/advertisers/${id}/restore`);
    const second = await update();
    expect([second.status, isReplay(second)]).toEqual([200, false]);
  });
});

describe('50 concurrent repeats', () => {
  it.each(['create', 'update', 'archive'])('of %s have one effect', async (kind) => {
    const { id } = await advertiser();
    const send = {
      create: () => create(),
      update: () => account.api.put(`/advertisers/${id}`, { name: 'New' }, withKey()),
      archive: () => account.api.delete(`/advertisers/${id}`, withKey()),
    }[kind] as () => Promise<ApiAnswer<unknown>>;
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    const done = answers.filter(({ status }) => status < 300);
    const waiting = answers.filter(({ status }) => status >= 300);
    expect(done.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(done.map((answer) => JSON.stringify(comparable(answer)))).size).toBe(1);
    for (const answer of waiting) {
      expect(refusalOf(answer)).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT', 'Idempotency-Key']);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(await eventTypes()).toHaveLength(2);
    const after = await send();
    expect([comparable(after), isReplay(after)]).toEqual([comparable(done[0] as ApiAnswer<unknown>), true]);
  });
});

describe('a revoked API key', () => {
  it('is 401 instead of a replay', async () => {
    expect((await create()).status).toBe(201);
    await service.pool.query('update api_keys set revoked_at = now() where customer_id = $1', [
      account.customerId,
    ]);
    const answer = await create();
    expect(refusalOf(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
    expect(isReplay(answer)).toBe(false);
  });
});
