import type { Machine } from '../machine.ts';
import type { Line } from '../measure.ts';

/** What a run of the benchmark was: where, when, how, and how busy the machine was with anything. */
export interface RunFigures {
  readonly machine: Machine;
  readonly command: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Averages of the last minute: processes that ran or waited. At the start none of them is the benchmark's. */
  readonly loadAtStart: number;
  readonly loadAtEnd: number;
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
}

/** What `--json` writes. */
export interface Figures {
  /** By the time of their start. */
  readonly runs: Readonly<Record<string, RunFigures>>;
  readonly scenarios: readonly ScenarioFigures[];
}

/**
 * Figures of several runs as one: all lines of a scenario are those of the last one that took it, in the place of the first.
 * Runs of which nothing is left are left out.
 */
export const mergeFigures = (all: readonly Figures[]): Figures => {
  const scenarios = new Map<string, ScenarioFigures>();
  for (const taken of all.flatMap((figures) => figures.scenarios)) scenarios.set(taken.scenario, taken);
  const used = new Set([...scenarios.values()].map(({ run }) => run));
  const runs = all.flatMap((figures) => Object.entries(figures.runs)).filter(([run]) => used.has(run));
  return { runs: Object.fromEntries(runs), scenarios: [...scenarios.values()] };
};
