import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { shippedProgram } from '../support/bundles.ts';
import {
  startEventStoreProcess,
  type EventStoreProcess,
} from '../support/eventstoredb/event-store-process.ts';
import { stepsOf, type Step } from '../support/runnable-page.ts';
import { runSteps } from '../support/run-steps.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/test-database.ts';
import { typicalEvent } from '../support/typical-event.ts';

/**
 * Runs the commands of the pages for operators unchanged. First those for a running installation, with seven accounts
 * and a sealed log of more than 2,000 events; then, page by page, those that are for a stopped one.
 */

/** A page and what its commands for a stopped installation contain. */
const pages: readonly (readonly [page: string, stopped: RegExp | undefined])[] = [
  ['command-line', undefined],
  ['read-models', /--offline/],
  ['log-seals', undefined],
  ['listener', undefined],
  ['mail', undefined],
  ['backup', /restore|move|events copy/],
  ['people', undefined],
  // Forgets the account that the others use.
  ['keys', undefined],
];
const SECRET_KEYS = `test:${'A'.repeat(43)}`;

let service: RunningService;
let folder: string;
let empty: TestDatabase;
let eventStore: EventStoreProcess;
const ended = new AbortController();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operator-pages-'));
  [service, empty, eventStore] = await Promise.all([
    startRunningService({ LOG_SEAL_SECONDS: '0' }, undefined, undefined, 'postgres'),
    createEmptyDatabase(),
    startEventStoreProcess(),
  ]);
  // `people.md` opens the seventh account.
  for (let n = 1; n <= 6; n += 1) await service.openAccount();
  for (let n = 0; n < 21; n += 1) {
    await service.store.append('sample-1-pages', Array.from({ length: 100 }, typicalEvent), 'any');
  }
});
afterAll(async () => {
  ended.abort();
  await eventStore.stop();
  await service.stop();
  await empty.drop();
  await rm(folder, { recursive: true, force: true });
});

const stepsOfPage = async (page: string): Promise<readonly Step[]> =>
  stepsOf(await readFile(`docs/operate/${page}.md`, 'utf8'));

const run = (steps: readonly Step[], settings: Readonly<Record<string, string>> = {}) =>
  runSteps(steps, {
    folder,
    environment: { ...service.stores, DATA_DIR: service.dataDir, SECRET_KEYS, ...settings },
    edit: (script) =>
      script
        .replaceAll('npx exchange', `"${process.execPath}" --no-warnings "${shippedProgram('exchange.js')}"`)
        .replaceAll('127.0.0.1:3001', new URL(service.operatorUrl).host)
        // A profile takes its time.
        .replaceAll('seconds=30', 'seconds=0.2'),
    signal: ended.signal,
  });

it('the commands for a running installation succeed', async () => {
  await run([{ command: 'npx exchange log seal', shown: undefined }]);
  for (const [page, stopped] of pages) {
    const steps = (await stepsOfPage(page)).filter(({ command }) => stopped?.test(command) !== true);
    expect([page, steps.length > 0]).toEqual([page, true]);
    await run(steps);
  }
}, 120_000);

it('the commands for a stopped installation succeed', async () => {
  await service.end();
  const ofPage = async (page: string, pattern: RegExp): Promise<readonly Step[]> => {
    const found = (await stepsOfPage(page)).filter(({ command }) => pattern.test(command));
    expect(found).toHaveLength(1);
    return found;
  };
  await run(await ofPage('read-models', /--offline/));
  const emptyStores = { DATABASE_URL: empty.url, DATA_DIR: join(folder, 'restored') };
  await run(await ofPage('backup', /backup restore/), emptyStores);
  await run(await ofPage('backup', /events copy/), { EVENTSTORE_URL: eventStore.url });
}, 120_000);
