import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readConfig } from '../../app/config.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { playCustomer } from '../examples/play.ts';
import { readPaths } from '../examples/read-paths.ts';
import { breakingChanges } from '../support/breaking-changes.ts';
import { buildRelease, describeWithRelease, type BuiltRelease } from '../support/built-release.ts';
import { shippedProgram } from '../support/bundles.ts';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { exchange, startProgram, type Program } from '../support/program.ts';
import { readAnswers } from '../support/released-dump.ts';
import { lastRelease, readReleased } from '../support/releases.ts';
import { startReportingSellers, type ReportingSellers } from '../support/reporting-sellers.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createOwnedDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { today, untilCaughtUp } from './crash-run.ts';
import { checkHistory } from './kit/checker.ts';
import { runClient } from './kit/client.ts';
import { emptyHistory } from './kit/history.ts';
import { referencedStoresOf } from './kit/partial-writes.ts';
import { createRandom } from './kit/random.ts';
import { buyOn, emptyPurchases, subscribeOn, summaryOf } from './upgrade-buyer.ts';

/**
 * The last release itself, filled over HTTP; then this version on the same stores, first side by side with it, as
 * docs/operate/restarts.md says.
 */

const describeRelease = await describeWithRelease(lastRelease);

const OURS = shippedProgram('main.js');
/** Without campaigns and creatives: workers write them, too, so results would not be predictable. */
const AREAS = ['advertisers', 'uploads', 'engines'] as const;
const CLIENTS = 4;
/** In each phase, by all clients together. */
const COMMANDS_BETWEEN = 40;

interface Node {
  readonly port: number;
  readonly program: Program;
}

describeRelease(`version ${lastRelease.version}, then this one`, () => {
  let release: BuiltRelease;
  let database: TestDatabase;
  let folder: string;
  let settings: Readonly<Record<string, string>>;
  let installation: Installation;
  let parts: {
    readonly mails: MailServer;
    readonly agent: SandboxAgent;
    readonly sellers: ReportingSellers;
    readonly receiver: WebhookReceiver;
  };
  const nodes: Node[] = [];
  let old: Readonly<Record<'projector' | 'api' | 'worker', Node>>;
  let ours: Node;
  let filled: { readonly apiKey: string; readonly paths: readonly string[] };

  const start = async (program: string, role: string, port?: number): Promise<Node> => {
    const own = { ROLES: role, PORT: String(port ?? (await freePort())) };
    const node = { port: Number(own.PORT), program: startProgram({ ...settings, ...own }, program) };
    nodes.push(node);
    await until(async () => (await statusOf(node)) === 200);
    return node;
  };
  const statusOf = ({ port }: Node): Promise<number | undefined> =>
    fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ status }) => status,
      () => undefined,
    );
  const end = async ({ program }: Node): Promise<void> => expect(await program.end('SIGTERM')).toBe(0);
  const addressOf = ({ port }: Node): string => `http://127.0.0.1:${port}`;

  beforeAll(async () => {
    const [built, mails, agent, sellers, receiver, port] = await Promise.all([
      buildRelease(lastRelease),
      startMailServer(),
      startSandboxAgent(),
      startReportingSellers(),
      startWebhookReceiver(),
      freePort(),
    ]);
    release = built;
    parts = { mails, agent, sellers, receiver };
    database = await createOwnedDatabase();
    folder = await mkdtemp(join(tmpdir(), 'exchange-upgrade-'));
    settings = {
      NODE_ENV: 'test',
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      SECRET_KEYS: `upgrade:${'A'.repeat(43)}`,
      BASE_URL: `http://127.0.0.1:${port}`,
      OUTBOUND_ALLOW_LOOPBACK: 'true',
      DELIVERY_REPORT_SECONDS: '1',
      PUBLIC_METRICS: 'true',
      AGENT_CHECK_MS: '0',
      SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
      MAIL_FROM: 'Exchange <mail@exchange.example>',
      ...generousLimits,
    };
    const projector = await start(release.program, 'projector');
    const api = await start(release.program, 'api', port);
    old = { projector, api, worker: await start(release.program, 'worker') };
    installation = await openWithLongTimeouts(readConfig(settings), 'upgrade');
  }, 60_000);
  afterAll(async () => {
    for (const { program } of nodes) await program.end('SIGKILL');
    await installation.close();
    await Promise.all([parts.mails.stop(), parts.agent.stop(), parts.sellers.stop(), parts.receiver.stop()]);
    await database.drop();
    await release.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('the release is the one whose document and migrations are in test/released', async () => {
    const answer = await fetch(`${addressOf(old.api)}/openapi.json`);
    const document = (await answer.json()) as Readonly<Record<string, unknown>>;
    const known = readReleased(lastRelease.version, 'openapi.json') as typeof document;
    expect(document['info']).toEqual(known['info']);
    expect(breakingChanges(known, document)).toEqual([]);
    const { rows } = await installation.pool.query<{ name: string }>(
      'select name from knex_migrations order by id',
    );
    const migrations = readReleased(lastRelease.version, 'migrations.json') as object;
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(migrations));
  });

  it('the release is filled by a scenario of every operation but documents', async () => {
    const baseUrl = addressOf(old.api);
    const service = { baseUrl, installation, pool: installation.pool };
    const { recorded } = await playCustomer({ ...parts, baseUrl, service, startedMs: Date.now() });
    const made = recorded.get('createApiKey')?.answer as { data: { key: string } } | undefined;
    filled = { apiKey: made?.data.key ?? '', paths: await readPaths(baseUrl, recorded) };
    expect(recorded.size).toBeGreaterThan(150);
  }, 60_000);

  it('this version joins it, and each takes over from the other: nothing is lost, doubled or stale', async () => {
    const accounts = await Promise.all(['A', 'B'].map((name) => createAccount(installation, name)));
    const [account = { customerId: 0, apiKey: '' }] = accounts;
    const subscription = await subscribeOn(addressOf(old.api), account.apiKey, parts.receiver.url);
    const [history, purchases] = [emptyHistory(), emptyPurchases()];
    const days = [today()];
    const ports = [old.api.port];
    let going = true;
    const goOn = (): boolean => going;
    const buying = buyOn({ ports, ...account, ...subscription, purchases, goOn });
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      runClient({
        name: `u${index}`,
        ports,
        ...(accounts[index % accounts.length] ?? account),
        areas: [AREAS[index % AREAS.length] ?? 'advertisers', ...AREAS],
        engineId: 1 + Math.floor(index / accounts.length),
        random: createRandom(index),
        history,
        goOn,
      }),
    );
    const untilMore = async (): Promise<void> => {
      const [commands, bought] = [history.operations.length + COMMANDS_BETWEEN, purchases.rounds + 2];
      await until(async () => history.operations.length >= commands && purchases.rounds >= bought);
    };
    const replace = async (): Promise<Node> => {
      await untilMore();
      const projector = await start(OURS, 'projector');
      await untilMore();
      await end(old.projector);
      await untilMore();
      ours = await start(OURS, 'api');
      // The same reads of what the release was filled with, while both run.
      await untilSameAnswers(addressOf(old.api), addressOf(ours));
      ports.push(ours.port);
      await untilMore();
      await start(OURS, 'worker');
      await untilMore();
      await end(old.worker);
      await untilMore();
      ports.shift();
      await end(old.api);
      await untilMore();
      return projector;
    };
    const projector = await replace().finally(() => (going = false));
    await Promise.all([buying, ...clients]);
    await untilCaughtUp(projector.port);
    days.push(today());
    const keeps = await referencedStoresOf(readConfig(settings), installation);
    const findings = await checkHistory(history, installation, keeps, [...new Set(days)]);
    // Others write, too: the scenario, the workers, the buyer.
    const ofClients = { ...findings, unrequested: findings.unrequested.filter((one) => /\bu\d-/.test(one)) };
    expect(Object.entries(ofClients).filter(([, found]) => found.length > 0)).toEqual([]);
    expect(purchases.wrong).toEqual([]);
    expect(await summaryOf(addressOf(ours), account.apiKey, subscription.advertiserId)).toBe(
      purchases.conversions,
    );
    await untilDelivered(purchases.campaigns);
    const { operations, reads, replays } = history;
    console.log(
      `${operations.length} commands, ${replays} replays, ${reads} reads; ` +
        `${purchases.campaigns.length} campaigns, ${purchases.conversions} conversions`,
    );
  }, 120_000);

  const untilSameAnswers = async (one: string, other: string): Promise<void> => {
    const read = (baseUrl: string) => readAnswers(baseUrl, filled.apiKey, filled.paths);
    let [before, after] = [{}, {}];
    // Some change by the hour, or by the work that goes on.
    for (let tries = 0; tries < 3; tries += 1) {
      [before, after] = await Promise.all([read(one), read(other)]);
      if (isDeepStrictEqual(before, after)) break;
    }
    expect(Object.keys(before).length).toBeGreaterThan(40);
    expect(after).toEqual(before);
  };

  /** Each campaign's creation, by one `webhook-id`. */
  const untilDelivered = async (campaigns: readonly string[]): Promise<void> => {
    const ids = (): ReadonlyMap<string, ReadonlySet<string>> => {
      const byCampaign = new Map<string, Set<string>>();
      for (const { headers, body } of parts.receiver.received) {
        const campaign = campaigns.find((id) => body.includes(`"${id}"`));
        if (campaign === undefined) continue;
        const known = byCampaign.get(campaign) ?? new Set();
        byCampaign.set(campaign, known.add(String(headers['webhook-id'])));
      }
      return byCampaign;
    };
    await until(async () => ids().size === campaigns.length);
    expect([...ids()].filter(([, found]) => found.size !== 1)).toEqual([]);
  };

  it('the log and the read models are whole', async () => {
    for (const words of ['log seal', 'log verify', 'read-models verify --json']) {
      const { status, stdout, stderr } = await exchange(words.split(' '), settings);
      expect([words, status, status === 0 ? '' : stdout + stderr]).toEqual([words, 0, '']);
    }
  });

  it('no process reports an error', () => {
    const errors = nodes.flatMap(({ program }) => program.output().split('\n').filter(isError));
    expect(errors).toEqual([]);
  });
});

/** A line of the log; level 50 is `error`. */
const isError = (line: string): boolean => /^\{"level":(?:50|60),/.test(line);
