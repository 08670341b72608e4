import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  type AppendResult,
  type EventStore,
} from '../../shared/event-store/event-store.ts';
import { makePostgresStore, openPostgresStore } from './make-postgres-store.ts';
import { newStream, readIds, sampleEvents } from './sample-events.ts';
import { until } from '../support/until.ts';

/** A proxy between store and Postgres that can withhold answers, cut connections or refuse them. */
const startProxy = async (target: URL) => {
  const sockets = new Set<Socket>();
  let stalled = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (!stalled) client.write(chunk);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    stall: (on: boolean) => {
      stalled = on;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

const timed = async (work: Promise<unknown>): Promise<{ error: unknown; ms: number }> => {
  const startMs = performance.now();
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, ms: performance.now() - startMs };
};

/** On a busy machine a connection may take longer than an append waits for it: then nothing was written. */
const appendSoon = async (store: EventStore, ...request: Parameters<EventStore['append']>) => {
  let result: AppendResult | undefined;
  await until(async () => {
    result = await store.append(...request).catch((error: unknown) => {
      if (!(error instanceof EventStoreUnavailableError)) throw error;
      return undefined;
    });
    return result !== undefined;
  });
  return result;
};

/** The limit is 3 s; the rest allows for a busy machine. */
const ANSWER_MS_MAX = 6_000;

describe('a store whose Postgres is unavailable, stalled or cut off', () => {
  let made: Awaited<ReturnType<typeof makePostgresStore>>;
  beforeAll(async () => {
    made = await makePostgresStore();
  });
  afterAll(() => made.dispose());

  it('fails as unavailable within 3 s when no server listens', async () => {
    const proxy = await startProxy(new URL(made.database.url));
    await proxy.stop();
    const { store, close } = openPostgresStore(proxy.url);
    for (let n = 0; n < 3; n += 1) {
      const { error, ms } = await timed(store.append(newStream(), sampleEvents(1), 'any'));
      expect(error).toBeInstanceOf(EventStoreUnavailableError);
      expect(ms).toBeLessThan(ANSWER_MS_MAX);
    }
    await expect(store.head()).rejects.toBeInstanceOf(EventStoreUnavailableError);
    await close();
  });

  it('fails as unavailable within 3 s when connecting hangs, and closes in time', async () => {
    const proxy = await startProxy(new URL(made.database.url));
    proxy.stall(true);
    const { store, close } = openPostgresStore(proxy.url);
    const attempts = [1, 2, 3].map(() => timed(store.append(newStream(), sampleEvents(1), 'any')));
    for (const { error, ms } of await Promise.all(attempts)) {
      expect(error).toBeInstanceOf(EventStoreUnavailableError);
      expect(ms).toBeLessThan(ANSWER_MS_MAX);
    }
    const closing = await timed(close());
    expect(closing.ms).toBeLessThan(ANSWER_MS_MAX);
    await proxy.stop();
  });

  it('fails as unknown when the answer is lost; the repeat returns that it was written', async () => {
    const proxy = await startProxy(new URL(made.database.url));
    const { store, close } = openPostgresStore(proxy.url);
    const stream = newStream();
    const events = sampleEvents(2);
    await appendSoon(store, newStream(), sampleEvents(1), 'any');

    proxy.stall(true);
    const lost = timed(store.append(stream, events, 'no-stream'));
    await until(async () => (await readIds(made.store, stream)).length === 2, 1_800);
    proxy.cut();
    proxy.stall(false);
    expect((await lost).error).toBeInstanceOf(AppendOutcomeUnknownError);
    expect(await appendSoon(store, stream, events, 'no-stream')).toMatchObject({
      revision: 1,
      repeated: true,
    });

    proxy.stall(true);
    const { error, ms } = await timed(store.append(stream, sampleEvents(1), 1));
    expect(error).toBeInstanceOf(AppendOutcomeUnknownError);
    expect(ms).toBeLessThan(ANSWER_MS_MAX);
    proxy.stall(false);
    expect(await appendSoon(store, newStream(), sampleEvents(1), 'any')).toMatchObject({ revision: 0 });
    await close();
    await proxy.stop();
  });

  it('fails as unavailable when Postgres stops waiting for the lock, and writes nothing', async () => {
    const blocker = await made.pool.connect();
    await blocker.query('begin');
    await blocker.query('select pg_advisory_xact_lock(7216002)');
    const stream = newStream();
    const events = sampleEvents(1);
    const { error, ms } = await timed(made.store.append(stream, events, 'no-stream'));
    expect(error).toBeInstanceOf(EventStoreUnavailableError);
    expect(ms).toBeLessThan(ANSWER_MS_MAX);
    await blocker.query('rollback');
    blocker.release();
    expect(await made.store.append(stream, events, 'no-stream')).toMatchObject({
      revision: 0,
      repeated: false,
    });
  });
});
