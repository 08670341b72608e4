import { join } from 'node:path';
import { readConfig } from '../../app/config.ts';
import { checkHistory, type Findings } from '../faults/kit/checker.ts';
import { runClient } from '../faults/kit/client.ts';
import { emptyHistory, type History, type Operation } from '../faults/kit/history.ts';
import { referencedStoresOf } from '../faults/kit/partial-writes.ts';
import { createRandom } from '../faults/kit/random.ts';
import { today } from '../faults/crash-run.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import type { Deployment, Installation, Settings } from './deployment.ts';
import { until } from './docker.ts';

const CLIENTS = 8;
/** After each kill, once the container is healthy. */
const COMMANDS_BETWEEN = 40;
const SEED = 1;

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** An installation, the clients' account in it, and what they have seen so far. */
export interface Run<Of extends Installation = Deployment> {
  readonly deployment: Of;
  readonly settings: Settings;
  readonly port: number;
  readonly account: { readonly customerId: number; readonly apiKey: string };
  readonly history: History;
  readonly days: string[];
}

export const startRun = async <Of extends Installation>(
  deployment: Of,
  settings: Settings,
  port: number,
): Promise<Run<Of>> => ({
  deployment,
  settings,
  port,
  account: JSON.parse(
    await deployment.operate('accounts', 'create', '--name', 'First', '--json'),
  ) as Run['account'],
  history: emptyHistory(),
  days: [today()],
});

/** While clients write through the balancer. @param name of the clients, not of earlier ones */
export const whileWriting = async (
  { account, history, port, days }: Run<Installation>,
  name: string,
  work: (more: () => Promise<void>) => Promise<void>,
): Promise<void> => {
  let going = true;
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    runClient({
      ...account,
      name: `${name}${index}`,
      ports: [port],
      // Workers also write campaigns and creatives, so their results would not be predictable.
      areas: ['advertisers'],
      engineId: 0,
      random: createRandom(SEED * 1_000 + index),
      history,
      goOn: () => going,
    }),
  );
  const more = async (): Promise<void> => {
    const enough = history.operations.length + COMMANDS_BETWEEN;
    await until('clients write', async () => history.operations.length >= enough);
  };
  await more();
  await work(more).finally(() => {
    going = false;
  });
  await Promise.all(clients);
  days.push(today());
};

/** The same, of which no request may fail. @throws Error */
export const whileNoneFails = async (
  run: Run<Installation>,
  name: string,
  work: (more: () => Promise<void>) => Promise<void>,
): Promise<void> => {
  const from = run.history.operations.length;
  await whileWriting(run, name, work);
  const operations = run.history.operations.slice(from);
  const failed = operations.filter(({ attempts, outcome }) => attempts > 1 || outcome === 'unknown');
  if (failed.length > 0) throw new Error(`${failed.length} requests failed: ${JSON.stringify(failed[0])}`);
  say(`${operations.length} commands meanwhile, each answered at the first attempt`);
};

interface Phase {
  readonly container: string;
  readonly awayMs: number;
  readonly operations: readonly Operation[];
}

/** Kills each of these containers after the other. Each phase has the operations that ended in it. */
const killEach = async (
  { deployment: { kill }, port, history: { operations } }: Run<Installation>,
  containers: readonly string[],
  more: () => Promise<void>,
): Promise<readonly Phase[]> => {
  const phases: Phase[] = [];
  for (const container of containers) {
    const from = operations.length;
    const awayMs = await kill(container);
    await until('the service is ready', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      return answer?.status === 200;
    });
    await more();
    phases.push({ container, awayMs, operations: operations.slice(from) });
    say(`${container} was killed, and is back after ${Math.round(awayMs / 1_000)} s`);
  }
  return phases;
};

/** Compares what the clients know with log and read models. @param folder for files of this check */
export const check = async (
  { deployment, settings, history, days }: Run<Installation>,
  folder: string,
): Promise<Findings> => {
  const host = (service: string): Promise<string> => deployment.addressOf(`buyer-exchange-${service}-1`);
  const nodes = deployment.containers.filter((name) => name.includes('-eventstore-'));
  const addresses = await Promise.all(nodes.map((name) => deployment.addressOf(name)));
  const config = readConfig({
    DATABASE_URL: `postgres://exchange:${settings['EXCHANGE_DB_PASSWORD']}@${await host('postgres')}:5432/exchange`,
    ...(nodes.length > 0 && {
      EVENTSTORE_URL: `esdb://${addresses.map((address) => `${address}:2113`).join(',')}?tls=false`,
    }),
    SECRET_KEYS: settings['SECRET_KEYS'],
    DATA_DIR: join(folder, 'data'),
  });
  const installation = await openWithLongTimeouts(config, 'containers');
  try {
    const keeps = await referencedStoresOf(config, installation);
    return await checkHistory(history, installation, keeps, [...new Set(days)]);
  } finally {
    await installation.close();
  }
};

/** One row for each container. */
const tableOf = (phases: readonly Phase[], { lost, duplicated }: Findings): string => {
  const row = (cells: readonly (string | number)[]): string =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(30) : String(cell).padStart(14))).join('');
  const named = (list: readonly string[], operations: readonly Operation[]): number =>
    operations.filter(({ key }) => list.some((finding) => finding.includes(`, ${key} (`))).length;
  return [
    row(['killed', 'away, s', 'acknowledged', 'refused*', 'lost', 'doubled']),
    ...phases.map(({ container, awayMs, operations }) =>
      row([
        container,
        Math.round(awayMs / 1_000),
        operations.filter(({ outcome }) => outcome === 'ok').length,
        operations.reduce(
          (sum, { attempts, outcome }) => sum + attempts - (outcome === 'unknown' ? 0 : 1),
          0,
        ),
        named(lost, operations),
        named(duplicated, operations),
      ]),
    ),
    '* attempts without an answer, or with 5xx. Those with a key were repeated until their outcome was known.',
  ].join('\n');
};

/** Kills containers while clients write, and verifies everything. @throws Error for anything that is found */
export const writeAndKill = async (
  run: Run<Installation>,
  folder: string,
  containers = run.deployment.containers,
): Promise<void> => {
  let phases: readonly Phase[] = [];
  await whileWriting(run, 'k', async (more) => {
    phases = await killEach(run, containers, more);
  });
  say(tableOf(phases, await verify(run, folder)));
};

/** @throws Error for anything that is found */
export const verify = async (run: Run<Installation>, folder: string): Promise<Findings> => {
  const { deployment, history } = run;
  say('the clients have ended; verifying');
  say(await deployment.operate('log', 'seal'));
  say(await deployment.operate('log', 'verify'));
  say(await deployment.operate('read-models', 'verify'));
  const findings = await check(run, folder);
  say(`${history.operations.length} commands, ${history.replays} replays, ${history.reads} reads`);
  const lists = Object.entries(findings as unknown as Record<string, readonly string[]>);
  say(lists.map(([kind, list]) => `${kind} ${list.length}`).join(', '));
  const found = lists.flatMap(([, list]) => list.slice(0, 3));
  if (found.length > 0) throw new Error(found.join('\n'));
  return findings;
};
