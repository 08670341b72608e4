import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { version } from '../../app/version.ts';
import type { Example } from '../../shared/http/examples.ts';
import { plainExamples } from '../examples/plain-examples.ts';
import type { Exchanges } from '../examples/exchanges.ts';
import { playScenario } from '../examples/play.ts';
import { readPaths } from '../examples/read-paths.ts';
import { writeExamples } from '../examples/write-examples.ts';
import { startMailServer } from '../support/mail-server.ts';
import { exchange } from '../support/program.ts';
import { backupOf, readIds } from '../support/released-dump.ts';
import { folderOf, nextVersion } from '../support/releases.ts';
import { startReportingSellers } from '../support/reporting-sellers.ts';
import { startRunningService } from '../support/running-service.ts';
import { startSandboxAgent } from '../support/sandbox-agent.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** The examples of the API document are exchanges of a customer with the service. */

const FILE = 'app/api-document/examples.json';

const startParts = async () => {
  const mails = await startMailServer();
  const settings = {
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    DELIVERY_REPORT_SECONDS: '1',
    PUBLIC_METRICS: 'true',
    SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
    MAIL_FROM: 'Exchange <mail@exchange.example>',
  };
  const [service, agent, sellers, receiver] = await Promise.all([
    startRunningService(settings),
    startSandboxAgent(),
    startReportingSellers(),
    startWebhookReceiver(),
  ]);
  return { baseUrl: service.baseUrl, service, mails, agent, sellers, receiver, startedMs: Date.now() };
};

/** `npm run released:dump`: writes the stores of this run, and what the API answers, to `test/released`. */
const dump = async (recorded: Exchanges['recorded']): Promise<void> => {
  // A released one never changes, and a version in development is not one.
  expect(version).toBe(nextVersion);
  const { service } = parts;
  const settings = {
    NODE_ENV: 'test',
    DATA_DIR: service.dataDir,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    ...service.stores,
  };
  const run = async (words: string): Promise<string> => {
    const { status, stdout, stderr } = await exchange(words.split(' '), settings);
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    return stdout;
  };
  const { rows } = await service.pool.query<{ id: string }>(
    'select customer_id as id from campaigns group by 1 order by count(*) desc limit 1',
  );
  const customerId = Number(rows[0]?.id);
  const { key } = JSON.parse(await run(`keys create ${customerId} --name Dump --json`)) as {
    key: string;
  };
  const paths = await readPaths(service.baseUrl, recorded);
  const ids = await readIds(service.baseUrl, key, paths);
  rmSync(backupOf(version), { recursive: true, force: true });
  await run('log seal');
  await run(`backup create ${backupOf(version)} --with-keys`);
  writeFileSync(
    `${folderOf(version)}/answers.json`,
    `${JSON.stringify({ customerId, ids }, undefined, 1)}\n`,
  );
};

let parts: Awaited<ReturnType<typeof startParts>>;
let examples: Readonly<Record<string, Example>>;
let operationIds: readonly string[];
beforeAll(async () => {
  parts = await startParts();
  const exchanges = await playScenario(parts);
  operationIds = exchanges.operationIds;
  const { baseUrl, agent, receiver, startedMs } = parts;
  examples = plainExamples(exchanges.recorded, {
    replaced: {
      [encodeURIComponent(baseUrl)]: encodeURIComponent('https://exchange.example'),
      [baseUrl]: 'https://exchange.example',
      [new URL(agent.url).origin]: 'https://ads.nordic.example',
      [receiver.url]: 'https://hooks.acme.example/exchange',
      [version]: '1.0.0',
      [agent.token]: 'EXAMPLE-token-of-the-agent',
    },
    startedMs,
  });
  if (process.env['GOLDEN_WRITE'] === 'true') writeFileSync(FILE, writeExamples(examples));
  if (process.env['RELEASED_DUMP'] === 'true') await dump(exchanges.recorded);
});
afterAll(async () => {
  const { service, agent, sellers, receiver, mails } = parts;
  await Promise.all([service.stop(), agent.stop(), sellers.stop(), receiver.stop()]);
  await mails.stop();
});

it('visits every operation', () => {
  expect(operationIds.filter((id) => !Object.hasOwn(examples, id))).toEqual([]);
});

it('gives the examples of the document: `GOLDEN_WRITE=true npm run jest -- api/examples`', () => {
  const golden = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, Example>>;
  expect(examples).toEqual(golden);
});
