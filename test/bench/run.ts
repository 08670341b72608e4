import { mkdir, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { migrations } from '../../migrations/index.ts';
import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { migrate } from '../../shared/postgres/migrate.ts';
import { benchSizes, createBenchDatabase, openPostgres } from './bench-database.ts';
import { eventLoopDelays } from './event-loop-delay.ts';
import { chartOf } from './figures/chart.ts';
import type { Figures, RunFigures, ScenarioFigures } from './figures/figures.ts';
import { profileFiguresOf, type ProfileFigures } from './figures/profile.ts';
import { databaseText, type PlanFigures } from './figures/plans.ts';
import { captionOf, profileText } from './figures/sections.ts';
import { describeMachine, machineText } from './machine.ts';
import { observeTurns, quantile, tableOf, type Line, type TurnObserver } from './measure.ts';
import { profileOwnProcess } from './own-process.ts';
import { forgetPlans, planLogSettings, takePlans, takeTurnTimes } from './plan-log.ts';
import { longOnly, scenarios } from './scenarios/all-scenarios.ts';
import type { Bench, Opening, Scenario } from './scenarios/scenario.ts';
import { runningPorts } from './service-process.ts';

/**
 * `npm run bench -- [--quick] [--only NAME]... [--seconds S] [--json FILE] [--svg FILE] [--profile DIR]
 * [--plans] [--default-postgres] [--peers DIR]`: the service against its peers, both in alternation in one run. Brings its own Postgres; with
 * `DATABASE_URL` it makes databases there and drops them.
 */

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    svg: { type: 'string' },
    profile: { type: 'string' },
    plans: { type: 'boolean', default: false },
    'default-postgres': { type: 'boolean', default: false },
    peers: { type: 'string' },
    seconds: { type: 'string' },
  },
});

type Named = readonly [name: string, scenario: Scenario];

const chosen = (): readonly Named[] => {
  const { only, quick } = values;
  const unknown = (only ?? []).filter((name) => scenarios[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(`no scenario ${unknown.join(', ')}; there are: ${Object.keys(scenarios).join(', ')}`);
  }
  return Object.entries(scenarios).filter(([name]) => only?.includes(name) ?? !(quick && longOnly.has(name)));
};

/** Of one measurement. */
const secondsOf = (): number => {
  const seconds = Number(values.seconds ?? (values.quick ? 0.1 : 3));
  if (!(seconds > 0)) throw new Error(`--seconds ${values.seconds}: a number above 0 is needed`);
  return seconds;
};

/** A process that served several scenarios would have one profile of all, and do its idle work in the plans of others. */
const isObserving = values.profile !== undefined || values.plans;

type Closers = (() => Promise<void>)[];

/** A scenario's bench, and what closes all that was opened by it. */
type OpenBench = () => { readonly bench: Bench; close(): Promise<void> };

/** Each scenario has a bench of its own; what several share is closed at the end of the run. */
const benches = (serverUrl: string, templateUrl: string, ofRun: Closers): OpenBench => {
  const shared = new Map<unknown, Promise<unknown>>();
  const benchOf = (closers: Closers): Bench => ({
    quick: values.quick,
    rounds: values.quick ? 3 : 5,
    warmUpRounds: values.quick ? 1 : 6,
    seconds: secondsOf(),
    growTo: values.quick ? 20_000 : 1_000_000,
    ...(values.peers === undefined ? {} : { peersDirectory: resolve(values.peers) }),
    createDatabase: async () => {
      const { url, drop } = await createBenchDatabase(serverUrl, templateUrl);
      closers.push(drop);
      return { url };
    },
    shared: <Opened>(open: (bench: Opening) => Promise<Opened>): Promise<Opened> => {
      const opened = shared.get(open) ?? open(benchOf(isObserving ? closers : ofRun));
      shared.set(open, opened);
      // What stands under a function is what this function has opened.
      return opened as Promise<Opened>;
    },
    atEnd: (close) => closers.push(close),
  });
  return () => {
    const closers: Closers = [];
    if (isObserving) shared.clear();
    const close = (): Promise<void> => closeAll(closers);
    // Of a run that is stopped in the middle of a scenario.
    ofRun.push(close);
    return { bench: benchOf(closers), close };
  };
};

/** In reverse order, each once; a failure does not keep the others open. */
const closeAll = async (closers: Closers): Promise<void> => {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    await close().catch((error: unknown) => process.stderr.write(`not closed: ${String(error)}\n`));
  }
};

const now = (): string => isoTimestamp(systemClock.now());
const load = (): number => loadavg()[0] ?? 0;

const profileDirectory = (profiles: string, name: string): string => join(resolve(profiles), name);

/** Has each process of the service write a profile to a folder of the scenario that starts it. */
const profileInto = async (name: string): Promise<void> => {
  if (values.profile === undefined) return;
  const directory = profileDirectory(values.profile, name);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  process.env['BENCH_PROFILE_DIR'] = directory;
};

/** Those of the service where any runs; where none does its code runs in this one. */
const ourProcesses = (): TurnObserver => {
  const own = profileOwnProcess(() => process.env['BENCH_PROFILE_DIR'] ?? '.');
  let observed = own;
  return {
    begin: () => {
      observed = runningPorts().length > 0 ? eventLoopDelays : own;
      return observed.begin();
    },
    end: () => observed.end(),
  };
};

/** What the processes have written, once they have ended. */
const profileOf = async (
  name: string,
  run: string,
  lines: readonly Line[],
): Promise<{ profile?: ProfileFigures }> => {
  const summed =
    values.profile === undefined ? undefined : await profileFiguresOf(profileDirectory(values.profile, name));
  if (summed === undefined) return {};
  const delays = lines.flatMap(({ loopDelaysMs = [] }) => loopDelaysMs);
  return { profile: { run, ...summed, ...(delays.length > 0 && { loopDelayMs: quantile(delays, 0.5) }) } };
};

const turnTimes = takeTurnTimes();

/** What Postgres executed in our turns, while its databases are still there. */
const plansOf = async (serverUrl: string, run: string): Promise<{ plans?: PlanFigures }> =>
  values.plans ? { plans: await takePlans(serverUrl, run, turnTimes.turns) } : {};

/** @returns undefined when the scenario failed, which is printed */
const take = async (
  [name, scenario]: Named,
  openBench: OpenBench,
  run: string,
  serverUrl: string,
): Promise<ScenarioFigures | undefined> => {
  const [startedAt, startedMs, loadBefore] = [now(), performance.now(), load()];
  await profileInto(name);
  if (values.plans) await forgetPlans(serverUrl);
  turnTimes.forget();
  const { bench, close } = openBench();
  try {
    const lines = await scenario(bench);
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    const loadAfter = load();
    process.stderr.write(`${name}: ${seconds.toFixed(1)} s, load ${loadAfter.toFixed(1)}\n`);
    const plans = await plansOf(serverUrl, run);
    await close();
    const profile = await profileOf(name, run, lines);
    return { scenario: name, run, startedAt, seconds, loadBefore, loadAfter, lines, ...profile, ...plans };
  } catch (error) {
    process.stderr.write(`${name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
    return undefined;
  } finally {
    await close();
  }
};

const commandLine = (): string =>
  ['npm run bench --', ...process.argv.slice(2)]
    .join(' ')
    .replaceAll(/ --(json|svg|peers) \S+/g, '')
    .replace(/ --$/, '');

const figuresOf = (run: RunFigures, taken: readonly ScenarioFigures[]): Figures => ({
  runs: { [run.startedAt]: run },
  scenarios: taken,
});

const writeJson = async (figures: Figures): Promise<void> => {
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, null, 2)}\n`);
};

const report = async (figures: Figures): Promise<void> => {
  const lines = figures.scenarios.flatMap((taken) => taken.lines);
  const times = figures.scenarios.map(({ scenario, seconds }) => `${scenario} ${seconds.toFixed(1)} s`);
  process.stdout.write(`\n${tableOf(lines)}\n\n${times.join(', ')}\n`);
  for (const { scenario, profile, plans } of figures.scenarios) {
    if (profile !== undefined) process.stdout.write(`${scenario}: ${profileText(profile)}\n`);
    for (const database of plans?.databases ?? [])
      process.stdout.write(`\n${scenario}: ${databaseText(database)}\n`);
  }
  if (values.svg === undefined) return;
  const title = 'Buyer Exchange: what was reached of each goal';
  await writeFile(values.svg, chartOf(title, lines, captionOf(figures)));
};

const main = async (): Promise<void> => {
  const selected = chosen();
  const closers: Closers = [];
  process.once('SIGINT', () => void closeAll(closers).finally(() => process.exit(130)));
  const [startedAt, startedMs, loadAtStart] = [now(), performance.now(), load()];
  const taken: ScenarioFigures[] = [];
  observeTurns([
    ...(values.plans ? [turnTimes] : []),
    ...(values.profile === undefined ? [] : [ourProcesses()]),
  ]);
  try {
    const postgres = await openPostgres(
      values['default-postgres'] ? {} : benchSizes,
      values.plans ? planLogSettings(secondsOf()) : {},
    );
    closers.push(() => postgres.stop());
    const machine = await describeMachine(postgres.url);
    process.stdout.write(`${machineText(machine)}\nload ${loadAtStart.toFixed(1)} at the start\n`);
    const leftOut = values.quick && values.only === undefined ? [...longOnly] : [];
    if (leftOut.length > 0) process.stdout.write(`left to the long form, or --only: ${leftOut.join(', ')}\n`);
    const template = await createBenchDatabase(postgres.url);
    closers.push(template.drop);
    await migrate(template.url, migrations);
    const openBench = benches(postgres.url, template.url, closers);
    const command = commandLine();
    const failed: string[] = [];
    const figures = (): Figures =>
      figuresOf({ machine, command, startedAt, loadAtStart, loadAtEnd: load(), failed }, taken);
    for (const named of selected) {
      const ofScenario = await take(named, openBench, startedAt, postgres.url);
      if (ofScenario === undefined) failed.push(named[0]);
      else taken.push(ofScenario);
      // After each one: a long run that is stopped has not been for nothing.
      await writeJson(figures());
    }
    await report(figures());
  } finally {
    await closeAll(closers);
  }
  const lines = taken.flatMap((figures) => figures.lines);
  const missed = lines.filter(({ met }) => met === false).length;
  const failed = selected.length - taken.length;
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  process.stdout.write(
    `${lines.length} lines, ${missed} goals missed, ${failed} scenarios failed, ${seconds} s in all\n`,
  );
  // A missed goal is a figure to look at, not an error: the machine may be busy with something else.
  process.exitCode = failed > 0 ? 1 : 0;
};

await main();
