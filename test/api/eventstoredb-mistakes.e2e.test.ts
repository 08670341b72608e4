import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { sleep } from '../../shared/async/backoff.ts';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';
import { testAuthorityFile, testTls } from '../support/eventstoredb/test-certificates.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** A whole service that EventStoreDB refuses: read models, workers and API. */

let eventStore: EventStoreService;
let service: RunningService;
afterEach(async () => {
  await service.stop();
  await eventStore.close();
});

/** Long enough to detect a retry loop. */
const WATCH_MS = 6_000;

describe.each([
  ['a wrong password', 'exchange:wrong-secret', 'refuses the user name or the password'],
  ['no right to read $all', 'exchange:open-sesame', "add it to $all's readRoles"],
])('with %s', (_, user, cause) => {
  it('logs it in one line and names it in /ready, without the secret', async () => {
    eventStore = await startEventStoreService({
      tls: testTls(),
      users: { exchange: { password: 'open-sesame' } },
    });
    const lines: string[] = [];
    const log = pino(
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          lines.push(...chunk.toString().trim().split('\n'));
          done();
        },
      }),
    );
    const ca = encodeURIComponent(testAuthorityFile);
    service = await startRunningService(
      { EVENTSTORE_URL: `esdb://${user}@127.0.0.1:${eventStore.port}?tlsCAFile=${ca}` },
      log,
    );
    await sleep(WATCH_MS);
    const ready = await fetch(`${service.operatorUrl}/ready`);
    const text = await ready.text();
    expect([ready.status, text]).toEqual([503, expect.stringContaining(cause)]);
    const about = lines.filter((line) => line.includes('EventStoreDB') || line.includes('event log'));
    expect(about).toEqual([expect.stringContaining(cause)]);
    expect([text, ...lines].join('\n')).not.toMatch(/wrong-secret|open-sesame/);
  });
});
