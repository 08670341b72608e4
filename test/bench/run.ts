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
import { observeMeasurements, quantile, tableOf, type Line, type MeasurementObserver } from './measure.ts';
import { profileOwnProcess } from './own-process.ts';
import { forgetPlans, planLogSettings, takePlans, recordMeasurementTimes } from './plan-log.ts';
import { longOnly, scenarios } from './scenarios/all-scenarios.ts';
import type { Bench, Opening, Scenario } from './scenarios/scenario.ts';
import { runningMetrics } from './service-process.ts';

/**
 * `npm run bench -- [--quick] [--only NAME]... [--seconds S] [--json FILE] [--svg FILE] [--profile DIR] [--plans]
 * [--default-postgres] [--peers DIR]` compares the service with its peers, alternately in one run. It starts its own
 * Postgres. With `DATABASE_URL` it creates databases there and drops them.
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

type NamedScenario = readonly [name: string, scenario: Scenario];

const chosen = (): readonly NamedScenario[] => {
  const { only, quick } = values;
  const unknown = (only ?? []).filter((name) => scenarios[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(
      `unknown scenario: ${unknown.join(', ')}. Scenarios: ${Object.keys(scenarios).join(', ')}`,
    );
  }
  return Object.entries(scenarios).filter(([name]) => only?.includes(name) ?? !(quick && longOnly.has(name)));
};

/** The length of one measurement. */
const secondsOf = (): number => {
  const seconds = Number(values.seconds ?? (values.quick ? 0.1 : 3));
  if (!(seconds > 0)) throw new Error(`--seconds must be above 0, not ${values.seconds}`);
  return seconds;
};

/**
 * Observed scenarios do not share a process: it would have one profile for all, and its idle work would appear in the
 * plans of others.
 */
const isObserving = values.profile !== undefined || values.plans;

type Closers = (() => Promise<void>)[];

/** A scenario's bench, and a function that closes everything it opened. */
type OpenBench = () => { readonly bench: Bench; close(): Promise<void> };

/** Each scenario has its own bench. Shared resources are closed at the end of the run. */
const benches = (serverUrl: string, templateUrl: string, ofRun: Closers): OpenBench => {
  const shared = new Map<unknown, Promise<unknown>>();
  const benchOf = (closers: Closers): Bench => ({
    quick: values.quick,
    // The quick form shows that each scenario works, not how fast.
    rounds: values.quick ? 1 : 5,
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
      // The key is the function that opened the value.
      return opened as Promise<Opened>;
    },
    atEnd: (close) => closers.push(close),
  });
  return () => {
    const closers: Closers = [];
    if (isObserving) shared.clear();
    const close = (): Promise<void> => closeAll(closers);
    // For a run that is stopped during a scenario.
    ofRun.push(close);
    return { bench: benchOf(closers), close };
  };
};

/** Closes in reverse order, each once, also after a failure. */
const closeAll = async (closers: Closers): Promise<void> => {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    await close().catch((error: unknown) => process.stderr.write(`not closed: ${String(error)}\n`));
  }
};

const now = (): string => isoTimestamp(systemClock.now());
const load = (): number => loadavg()[0] ?? 0;

const profileDirectory = (profiles: string, name: string): string => join(resolve(profiles), name);

/** Makes each process of the service write a profile to a folder of the scenario. */
const profileInto = async (name: string): Promise<void> => {
  if (values.profile === undefined) return;
  const directory = profileDirectory(values.profile, name);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  process.env['BENCH_PROFILE_DIR'] = directory;
};

/** Observes the service's processes, or this process if none runs. */
const ourProcesses = (): MeasurementObserver => {
  const own = profileOwnProcess(() => process.env['BENCH_PROFILE_DIR'] ?? '.');
  let observed = own;
  return {
    begin: () => {
      observed = runningMetrics().length > 0 ? eventLoopDelays : own;
      return observed.begin();
    },
    end: () => observed.end(),
  };
};

/** Reads the profiles after the processes have ended. */
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

const measurementTimes = recordMeasurementTimes();

/** Reads the plans while the scenario's databases still exist. */
const plansOf = async (serverUrl: string, run: string): Promise<{ plans?: PlanFigures }> =>
  values.plans ? { plans: await takePlans(serverUrl, run, measurementTimes.ranges) } : {};

/** @returns undefined if the scenario failed; prints the failure */
const take = async (
  [name, scenario]: NamedScenario,
  openBench: OpenBench,
  run: string,
  serverUrl: string,
): Promise<ScenarioFigures | undefined> => {
  const [startedAt, startedMs, loadBefore] = [now(), performance.now(), load()];
  await profileInto(name);
  if (values.plans) await forgetPlans(serverUrl);
  measurementTimes.forget();
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
  observeMeasurements([
    ...(values.plans ? [measurementTimes] : []),
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
    if (leftOut.length > 0)
      process.stdout.write(`only in the long form or with --only: ${leftOut.join(', ')}\n`);
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
      // After each scenario, so that a stopped run keeps its figures.
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
    `${lines.length} lines, ${missed} goals missed, ${failed} scenarios failed, ${seconds} s in total\n`,
  );
  // A missed goal is not an error: the machine may be busy.
  process.exitCode = failed > 0 ? 1 : 0;
};

await main();
