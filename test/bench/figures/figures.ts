import type { Machine } from '../machine.ts';
import type { Line } from '../measure.ts';
import type { PlanFigures } from './plans.ts';
import type { ProfileFigures } from './profile.ts';

/** The circumstances of a benchmark run. */
export interface RunFigures {
  readonly machine: Machine;
  readonly command: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Averages over one minute of running and waiting processes. At the start, none of them belongs to the benchmark. */
  readonly loadAtStart: number;
  readonly loadAtEnd: number;
  /** Scenarios that failed. They have no lines from this run. */
  readonly failed?: readonly string[];
}

/** One scenario's lines, and their time. */
export interface ScenarioFigures {
  readonly scenario: string;
  /** The key of the run. */
  readonly run: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly lines: readonly Line[];
  /** Only for a run with `--profile`. */
  readonly profile?: ProfileFigures;
  /** Only in the file of a run with `--plans`: they are printed, not published. */
  readonly plans?: PlanFigures;
}

/** The content of a `--json` file. */
export interface Figures {
  /** Keyed by start time. */
  readonly runs: Readonly<Record<string, RunFigures>>;
  readonly scenarios: readonly ScenarioFigures[];
}

/**
 * Merges the figures of several runs. Each scenario takes the lines of its last run, its last profile and no plans. The
 * order is that of the first runs. Profiling and plans cost time, so the lines of such a run count only if no other run
 * has the scenario. Runs without remaining figures are omitted.
 */
export const mergeFigures = (all: readonly Figures[]): Figures => {
  const merged = new Map<string, ScenarioFigures>();
  for (const taken of all.flatMap((figures) => figures.scenarios)) {
    const known = merged.get(taken.scenario);
    merged.set(taken.scenario, known === undefined ? taken : later(known, taken));
  }
  const scenarios = [...merged.values()].map(({ plans: _plans, ...published }) => published);
  const used = new Set(scenarios.flatMap(({ run, profile }) => [run, profile?.run]));
  const runs = all.flatMap((figures) => Object.entries(figures.runs)).filter(([run]) => used.has(run));
  return { runs: Object.fromEntries(runs), scenarios };
};

const isObserved = ({ run, profile, plans }: ScenarioFigures): boolean =>
  profile?.run === run || plans?.run === run;

const later = (known: ScenarioFigures, taken: ScenarioFigures): ScenarioFigures => {
  const lines = isObserved(taken) && !isObserved(known) ? known : taken;
  const profile = taken.profile ?? known.profile;
  return { ...lines, ...(profile !== undefined && { profile }) };
};
