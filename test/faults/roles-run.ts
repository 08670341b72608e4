import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createTestStores, describeStores, type EventsIn } from '../support/test-stores.ts';
import { projectTheRest, today } from './crash-run.ts';
import { checkHistory, type Findings } from './kit/checker.ts';
import { runClient } from './kit/client.ts';
import { referencedStoresOf } from './kit/partial-writes.ts';
import { emptyHistory, type History } from './kit/history.ts';
import { createRandom } from './kit/random.ts';
import { startSupervisor } from './kit/supervisor.ts';

export interface RolesRunOptions {
  readonly seed: number;
  readonly events: EventsIn;
  /** How often each process is killed. */
  readonly rounds: number;
}

export interface RolesRunReport {
  readonly stores: string;
  readonly commands: number;
  readonly reads: number;
  readonly replays: number;
  readonly kills: number;
  readonly findings: Findings;
}

const ROLES = ['api', 'api', 'projector', 'projector', 'worker', 'worker'] as const;
const CLIENTS = 16;
const COMMANDS_BETWEEN = 20;
const BETWEEN_MS_MAX = 5_000;

/** Two processes of every role under load, each killed in rotation. Then the history is checked. */
export const rolesRun = async (options: RolesRunOptions): Promise<RolesRunReport> => {
  const { seed, rounds } = options;
  const stores = await createTestStores(options.events);
  const config = readConfig(stores.settings);
  const installation = await openWithLongTimeouts(config, 'faults');
  const accounts = await Promise.all(['A', 'B'].map((name) => createAccount(installation, name)));
  const supervisor = await startSupervisor(
    ROLES.map((role) => ({ ROLES: role })),
    stores.settings,
  );
  try {
    await supervisor.ready();
    const history = emptyHistory();
    const days = [today()];
    let going = true;
    const killing = (async () => {
      for (let kill = 0; kill < rounds * ROLES.length; kill += 1) {
        await untilMore(history, COMMANDS_BETWEEN);
        supervisor.kill(kill % ROLES.length);
      }
      await untilMore(history, COMMANDS_BETWEEN);
      going = false;
    })();
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) =>
        runClient({
          name: `r${index}-${seed}`,
          ports: supervisor.ports.filter((__, process) => ROLES[process] === 'api'),
          ...(accounts[index % accounts.length] ?? { customerId: 0, apiKey: '' }),
          // Only advertisers: workers also write campaigns and creatives, so results would not be predictable.
          areas: ['advertisers'],
          engineId: 0,
          random: createRandom(seed * 1_000 + index),
          history,
          goOn: () => going,
        }),
      ),
    );
    await killing;
    const kills = supervisor.crashes;
    await supervisor.stop();
    await projectTheRest(stores.settings);
    days.push(today());
    const keeps = await referencedStoresOf(config, installation);
    const findings = await checkHistory(history, installation, keeps, [...new Set(days)]);
    const { operations, reads, replays } = history;
    return { stores: describeStores(stores), commands: operations.length, reads, replays, kills, findings };
  } finally {
    await supervisor.stop();
    await installation.close();
    await stores.drop();
  }
};

/** Waits, for a bounded time, until the remaining processes and the restarted one have completed this many commands. */
const untilMore = async ({ operations }: History, commands: number): Promise<void> => {
  const enough = operations.length + commands;
  const startedMs = performance.now();
  while (operations.length < enough && performance.now() - startedMs < BETWEEN_MS_MAX) await sleep(10);
};
