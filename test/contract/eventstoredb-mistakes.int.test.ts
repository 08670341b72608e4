import { afterEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { EventStoreDBClient } from '@eventstore/db-client';
import { pino } from 'pino';
import { sleep } from '../../shared/async/backoff.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import {
  createEventStoreDbEventStore,
  type EventStoreDbEventStore,
} from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { disconnect, until } from '../support/eventstoredb/client-kit.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from '../support/eventstoredb/event-store-service.ts';
import { testAuthorityFile, testTls } from '../support/eventstoredb/test-certificates.ts';
import { newStream, sampleEvents } from './sample-events.ts';

/** An operator's mistake is logged once, in plain words and without the secret. */

const USERS = {
  admin: { password: 'changeit', groups: ['$admins'] },
  exchange: { password: 'open-sesame' },
};
const secure = (): EventStoreServiceOptions => ({ tls: testTls(), users: USERS });

let service: EventStoreService;
let store: EventStoreDbEventStore;
let lines: { readonly level: number; readonly msg: string }[];
const ended = new AbortController();
afterEach(async () => {
  await store.close();
  await service.close();
});

const addressOf = (user: string, options: string): string =>
  `esdb://${user === '' ? '' : `${user}@`}127.0.0.1:${service.port}${options}`;
const trusting = `?tlsCAFile=${encodeURIComponent(testAuthorityFile)}`;

const open = async (options: EventStoreServiceOptions, user: string, query: string): Promise<void> => {
  service = await startEventStoreService(options);
  lines = [];
  store = createEventStoreDbEventStore({
    connectionString: addressOf(user, query),
    limits: { ...callLimits, readMs: 500, sendMs: 500 },
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }),
    recordPosition: async () => undefined,
  });
};

/** Does what a service does: subscribes three times, reads, appends, checks readiness. */
const exerciseStore = async (): Promise<void> => {
  for (let n = 0; n < 3; n += 1) {
    void (async () => {
      for await (const _ of store.subscribeToAll({ after: START, signal: ended.signal }));
    })();
  }
  for (let n = 0; n < 4; n += 1) {
    await Promise.allSettled([
      store.head(),
      store.append(newStream(), sampleEvents(1), 'no-stream'),
      store.appendProblem(),
    ]);
  }
};

describe.each([
  ['a wrong password', secure, 'exchange:wrong-secret', trusting, 'refuses the user name or the password'],
  [
    'a user that does not exist',
    secure,
    'nobody:wrong-secret',
    trusting,
    'refuses the user name or the password',
  ],
  ['no right to read $all', secure, 'exchange:open-sesame', trusting, "add it to $all's readRoles"],
  ['a certificate of an unknown authority', secure, 'exchange:open-sesame', '', 'is not trusted'],
  ['TLS at the client only', () => ({}), 'exchange:open-sesame', '', 'does not speak TLS'],
  [
    'TLS at the server only',
    secure,
    'exchange:open-sesame',
    '?tls=false',
    'it expects TLS and tls=false is set',
  ],
] as const)('%s', (_, options, user, query, cause) => {
  it('is logged in one line and named by the readiness check', async () => {
    await open(options(), user, query);
    await exerciseStore();
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining(cause)]);
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining(`127.0.0.1:${service.port}`)]);
    expect(await store.appendProblem()).toContain(cause);
    expect(JSON.stringify(lines)).not.toMatch(/wrong-secret|open-sesame/);
    expect(service.log.records).toEqual([]);
  });
});

describe('the right to read $all', () => {
  it("is enough, and takes effect when $all's readRoles grant it", async () => {
    await open(secure(), 'exchange:open-sesame', trusting);
    await exerciseStore();
    const admin = EventStoreDBClient.connectionString(addressOf('admin:changeit', trusting));
    await admin.setStreamMetadata('$all', { acl: { readRoles: ['$admins', 'exchange'] } });
    await disconnect(admin);
    expect(await store.append(newStream(), sampleEvents(1), 'no-stream')).toMatchObject({ revision: 0 });
    expect(await store.appendProblem()).toBeUndefined();
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringContaining('EventStoreDB cannot be used'),
      'EventStoreDB can be used again',
    ]);
  });
});

describe('the right to write', () => {
  it('is named as missing by the readiness check, although everything can be read', async () => {
    await open({}, '', '?tls=false');
    service.faults.inject({ fault: 'status', code: status.PERMISSION_DENIED, kinds: ['append'], next: null });
    expect(await store.head()).toBe(START);
    expect(await store.appendProblem()).toContain('may not append');
  });
});

describe('a cause that changes', () => {
  it('is logged as another line, and its end as one more', async () => {
    await open({}, '', '?tls=false');
    const { port, log } = service;
    await service.close();
    await exerciseStore();
    service = await startEventStoreService({ port, log, nodeRole: { role: 'leaderless' } });
    await until(() => lines.length === 2);
    await sleep(1_000);
    service.setRole({ role: 'leader' });
    await store.append(newStream(), sampleEvents(1), 'no-stream');
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringContaining('cannot be reached (ECONNREFUSED)'),
      expect.stringContaining('no node leads'),
      'EventStoreDB can be used again',
    ]);
  });
});
