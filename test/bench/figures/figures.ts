import type { Machine } from '../machine.ts';
import type { Line } from '../measure.ts';
import type { PlanFigures } from './plans.ts';
import type { ProfileFigures } from './profile.ts';

/** What a run of the benchmark was: where, when, how, and how busy the machine was with anything. */
export interface RunFigures {
  readonly machine: Machine;
  readonly command: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Averages of the last minute: processes that ran or waited. At the start none of them is the benchmark's. */
  readonly loadAtStart: number;
  readonly loadAtEnd: number;
  /** Scenarios that ended with an error: they have no lines of this run. */
  readonly failed?: readonly string[];
}

/** One scenario's lines, and when they were taken. */
export interface ScenarioFigures {
  readonly scenario: string;
  /** Which of the runs. */
  readonly run: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly lines: readonly Line[];
  /** Only of a run with `--profile`. */
  readonly profile?: ProfileFigures;
  /** Only of a run with `--plans`. */
  readonly plans?: PlanFigures;
}

/** What `--json` writes. */
export interface Figures {
  /** By the time of their start. */
  readonly runs: Readonly<Record<string, RunFigures>>;
  readonly scenarios: readonly ScenarioFigures[];
}

/**
 * Figures of several runs as one: all lines of a scenario are those of the last one that took it, in the place of the first,
 * and its profile and its plans are the last ones there are. Looking costs time, so one that was looked at gives its lines only
 * where no other did. Runs of which nothing is left are left out.
 */
export const mergeFigures = (all: readonly Figures[]): Figures => {
  const merged = new Map<string, ScenarioFigures>();
  for (const taken of all.flatMap((figures) => figures.scenarios)) {
    const known = merged.get(taken.scenario);
    merged.set(taken.scenario, known === undefined ? taken : later(known, taken));
  }
  const scenarios = [...merged.values()];
  const used = new Set(scenarios.flatMap(({ run, profile, plans }) => [run, profile?.run, plans?.run]));
  const runs = all.flatMap((figures) => Object.entries(figures.runs)).filter(([run]) => used.has(run));
  return { runs: Object.fromEntries(runs), scenarios };
};

const isObserved = ({ run, profile, plans }: ScenarioFigures): boolean =>
  profile?.run === run || plans?.run === run;

const later = (known: ScenarioFigures, taken: ScenarioFigures): ScenarioFigures => {
  const lines = isObserved(taken) && !isObserved(known) ? known : taken;
  const [profile, plans] = [taken.profile ?? known.profile, taken.plans ?? known.plans];
  return { ...lines, ...(profile !== undefined && { profile }), ...(plans !== undefined && { plans }) };
};
