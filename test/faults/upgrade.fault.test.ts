import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readConfig } from '../../app/config.ts';
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
import { isStable, readAnswers } from '../support/released-dump.ts';
import { lastRelease, readReleased } from '../support/releases.ts';
import { startReportingSellers, type ReportingSellers } from '../support/reporting-sellers.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createOwnedDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { today, untilCaughtUp } from './crash-run.ts';
import { checkHistory } from './kit/checker.ts';
import { referencedStoresOf } from './kit/partial-writes.ts';
import { keyOf } from './kit/syndicating-buyer.ts';
import { checkSyndication, settle } from './kit/syndication-checks.ts';
import { summaryOf } from './upgrade-buyer.ts';
import { openLoad, readsOf, submissionsOf, type Load } from './upgrade-load.ts';

/**
 * The last release itself, filled over HTTP; then this version on the same stores, first side by side with it, as
 * docs/operate/restarts.md says.
 */

const describeRelease = await describeWithRelease(lastRelease);

/** The catalogue of events is a document of the version. */
const isOfState = (path: string): boolean => isStable(path) && path !== '/webhook-event-types';

const OURS = shippedProgram('main.js');
const SETTLE_MS_MAX = 60_000;

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
    /** Workers of one version follow its tasks, which those of the other one have started. */
    readonly submitting: SandboxAgent;
    readonly sellers: ReportingSellers;
    readonly receiver: WebhookReceiver;
  };
  const nodes: Node[] = [];
  let old: Readonly<Record<'projector' | 'api' | 'worker', Node>>;
  let ours: Node;
  let load: Load;
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
    const [built, mails, agent, submitting, sellers, receiver, port] = await Promise.all([
      buildRelease(lastRelease),
      startMailServer(),
      startSandboxAgent(),
      startSandboxAgent('token-of-the-submitting-agent'),
      startReportingSellers(),
      startWebhookReceiver(),
      freePort(),
    ]);
    release = built;
    parts = { mails, agent, submitting, sellers, receiver };
    await submitting.behave({ mode: 'submitted', delayMs: 1_500 });
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
  }, 120_000);
  afterAll(async () => {
    for (const { program } of nodes) await program.end('SIGKILL');
    await installation.close();
    await Promise.all(Object.values(parts).map((part) => part.stop()));
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
  }, 120_000);

  it('this version joins it, and each takes over from the other: nothing is lost, doubled or stale', async () => {
    const days = [today()];
    const ports = [old.api.port];
    load = await openLoad({
      installation,
      ports,
      receiverUrl: parts.receiver.url,
      agents: [parts.submitting, parts.agent],
    });
    const projector = await load.during(async (untilMore) => {
      await untilMore();
      const started = await start(OURS, 'projector');
      await untilMore();
      await end(old.projector);
      await untilMore();
      ours = await start(OURS, 'api');
      // The same reads of what the release was filled with, while both run.
      await untilSameAnswers(filled.apiKey, filled.paths.filter(isOfState));
      ports.push(ours.port);
      await untilMore();
      await start(OURS, 'worker');
      await untilMore();
      await end(old.worker);
      await untilMore();
      return started;
    });
    const reads = readsOf(load);
    expect(await untilSameAnswers(load.apiKey, reads)).toEqual(reads);
    await load.during(async (untilMore) => {
      ports.shift();
      await end(old.api);
      await untilMore();
    });
    await untilCaughtUp(projector.port);
    days.push(today());
    const keeps = await referencedStoresOf(readConfig(settings), installation);
    const findings = await checkHistory(load.history, installation, keeps, [...new Set(days)]);
    // Others write, too: the scenario, the workers, the buyers.
    const ofClients = { ...findings, unrequested: findings.unrequested.filter((one) => /\bu\d-/.test(one)) };
    expect(Object.entries(ofClients).filter(([, found]) => found.length > 0)).toEqual([]);
    const { purchases, history } = load;
    expect(purchases.wrong).toEqual([]);
    expect(await summaryOf(addressOf(ours), load.apiKey, load.advertiserId)).toBe(purchases.conversions);
    await untilDelivered(purchases.campaigns);
    console.log(
      `${history.operations.length} commands, ${history.replays} replays, ${history.reads} reads; ` +
        `${purchases.campaigns.length} campaigns, ${purchases.conversions} conversions\n${countsOf(load)}`,
    );
  }, 300_000);

  it('each record is where the last switch says, here and at the agent', async () => {
    expect(await settle(installation.pool, SETTLE_MS_MAX)).toEqual([]);
    const { syndicating, wanted } = load;
    const { records, streams, findings } = await checkSyndication(installation, syndicating, wanted);
    expect(findings).toEqual({
      notInLastState: 0,
      illegalTransitions: [],
      unexpectedAtAgent: [],
      missingAtAgent: 0,
      otherMembers: 0,
      repeatedEffects: 0,
      otherKeys: [],
      failed: [],
    });
    const last = (isOn: boolean): string => (isOn ? 'COMPLETED' : 'DISABLED');
    expect(new Map(records.map((record) => [keyOf(record), record.status]))).toEqual(
      new Map([...wanted].map(([key, isOn]) => [key, last(isOn)])),
    );
    const followed = [...streams.values()].flat().filter(({ type }) => type === 'SyndicationSubmitted');
    console.log(`${load.toggles()} toggles of ${records.length} records, ${followed.length} tasks followed`);
  }, 300_000);

  it('workers have submitted each creative of an active campaign, once to each seller', async () => {
    await until(async () => (await submissionsOf(installation, load)).missing.length === 0);
    const { submissions, doubled } = await submissionsOf(installation, load);
    expect(doubled).toEqual([]);
    expect(submissions).toBeGreaterThan(0);
    console.log(`${submissions} creatives submitted`);
  });

  /** Both versions, while both run. @returns the paths that both answered with 200 */
  const untilSameAnswers = async (apiKey: string, paths: readonly string[]): Promise<readonly string[]> => {
    const read = (node: Node) => readAnswers(addressOf(node), apiKey, paths);
    let [before, after] = [{}, {}];
    // Some change by the hour, or by the work that goes on.
    for (let tries = 0; tries < 3; tries += 1) {
      [before, after] = await Promise.all([read(old.api), read(ours)]);
      if (isDeepStrictEqual(before, after)) break;
    }
    expect(Object.keys(before).length).toBeGreaterThan(40);
    expect(after).toEqual(before);
    return Object.keys(after);
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

/** Acknowledged commands by kind. */
const countsOf = ({ history }: Load): string => {
  const counts: Record<string, number> = {};
  for (const { command, outcome } of history.operations) {
    if (outcome === 'ok') counts[command.event] = (counts[command.event] ?? 0) + 1;
  }
  return JSON.stringify(counts);
};

/** A line of the log; level 50 is `error`. */
const isError = (line: string): boolean => /^\{"level":(?:50|60),/.test(line);
