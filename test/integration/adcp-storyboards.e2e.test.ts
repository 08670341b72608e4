import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';
import { addSeller, connectSeller } from '../../command/sellers/commands.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSellers, type TestSellers } from '../support/sellers.ts';

/** The storyboards of AdCP's official package grade the exchange as an agent. */

const VERSION = '3.0.6';
const OUTPUT_BYTES_MAX = 32 * 1024 * 1024;

const sdk = (...path: readonly string[]): string =>
  join(packageDirectory, 'node_modules', '@adcp', 'sdk', ...path);

let service: RunningService;
let sellers: TestSellers;
beforeAll(async () => {
  const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true' };
  [service, sellers] = await Promise.all([startRunningService(settings), startSellers()]);
  const { store, secrets } = service.installation;
  for (const how of ['works', 'one-bad']) {
    const { sellerId } = await addSeller({ store, clock }, { name: how, channels: [] });
    await connectSeller({ store, secrets, clock }, sellerId, { url: sellers.url(how), protocol: 'MCP' });
  }
});
afterAll(async () => {
  await Promise.all([service.stop(), sellers.stop()]);
});

interface Grades {
  readonly summary: { readonly steps_passed: number; readonly steps_failed: number };
  readonly failures?: readonly { readonly storyboard_id: string; readonly step_id: string }[];
  readonly tracks: readonly {
    readonly scenarios: readonly {
      readonly steps: readonly { readonly task?: string; readonly skipped?: boolean }[];
    }[];
  }[];
  readonly storyboards_executed: readonly string[];
}

/** Credentials are probed with a protected task, by default one that this agent does not offer. */
const storyboardsWithOwnProbe = async (): Promise<string> => {
  const directory = join(service.dataDir, 'storyboards');
  await cp(sdk('compliance', 'cache', VERSION), directory, { recursive: true });
  const file = join(directory, 'universal', 'security.yaml');
  const text = await readFile(file, 'utf8');
  const [theirs, ours] = ['list_creatives', 'get_media_buy_delivery'].map((one) => `task_default: ${one}`);
  expect(text).toContain(theirs);
  await writeFile(file, text.replaceAll(`${theirs}`, `${ours}`));
  return directory;
};

const grade = async (storyboards: readonly string[]): Promise<Grades> => {
  const { apiKey } = await service.openAccount();
  const agent = `${service.baseUrl}/adcp/mcp`;
  const words = ['storyboard', 'run', agent, '--storyboards', storyboards.join(), '--auth', apiKey];
  const env = { ...process.env, ADCP_COMPLIANCE_DIR: await storyboardsWithOwnProbe() };
  const output = await new Promise<string>((resolve) => {
    // It also ends with an error for the expected failures.
    execFile(
      process.execPath,
      [sdk('bin', 'adcp.js'), ...words, '--allow-http', '--json'],
      { env, maxBuffer: OUTPUT_BYTES_MAX },
      (_error, stdout) => resolve(stdout),
    );
  });
  return JSON.parse(output) as Grades;
};

const expectedFailures = [
  // It wants one of two answers to create_media_buy, which is not offered.
  'schema_validation/assert_past_start_handled',
  // It is for agents with tasks that change something, which declare that they heed an idempotency key.
  'idempotency/get_capabilities',
];

/** The exchange sells nothing itself, so it does not offer them. Their steps are skipped. */
const notOffered = ['create_media_buy', 'expect_webhook', 'get_media_buys', 'list_creative_formats'];

it('grade tasks, answers, refusals, the envelope and credentials', async () => {
  const storyboards = [
    'capability_discovery',
    'schema_validation',
    'error_compliance',
    'pagination_integrity',
    'idempotency',
    'security_baseline',
    'v3_envelope_integrity',
  ];
  const { failures = [], tracks, summary, storyboards_executed: executed } = await grade(storyboards);
  expect(executed).toEqual(storyboards);
  expect(failures.map((one) => `${one.storyboard_id}/${one.step_id}`)).toEqual(expectedFailures);
  const steps = tracks.flatMap(({ scenarios }) => scenarios).flatMap((one) => one.steps);
  const skipped = new Set(steps.flatMap((one) => (one.skipped === true && one.task ? [one.task] : [])));
  expect([...skipped].sort()).toEqual(notOffered);
  // pagination_integrity is for list_creatives, and skipped as a whole.
  expect(summary).toMatchObject({ steps_passed: 16, steps_failed: 2 });
}, 120_000);
