/** One measured line: the service and its baseline, measured alternately in one run. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** Absent: there is no comparison, and a goal is a value in `unit`. */
  readonly baseline?: readonly number[];
  readonly baselineName?: string;
  /** For the ratio ours / baseline of each pair. A maximum with `atMost`. */
  readonly goal?: number;
  readonly atMost?: boolean;
  readonly note?: string;
  /** The event loop's p99 delay in the service's processes for each measurement, in ms. Only with `--profile`. */
  readonly loopDelaysMs?: readonly number[];
}

export interface Line extends Comparison {
  readonly oursMedian: number;
  readonly baselineMedian?: number;
  readonly ratio?: number;
  /** The ratio to the goal: met from 1 on, also if the goal is a maximum. */
  readonly ofGoal?: number;
  readonly met?: boolean;
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
};

/** The value below which this share of the values is; 0 without values. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

/** Observes the service during each of its measurements. */
export interface MeasurementObserver {
  begin(): Promise<void>;
  /**
   * The event loop's p99 delay since `begin`, in ms. Undefined if not observed or if no process of the service runs.
   */
  end(): Promise<number | undefined>;
}

let observers: readonly MeasurementObserver[] = [];

/** Sets the observers of all later measurements. */
export const observeMeasurements = (by: readonly MeasurementObserver[]): void => {
  observers = by;
};

export interface Alternation<Measured> {
  readonly ours: Measured[];
  readonly baseline: Measured[];
  readonly loopDelaysMs?: number[];
}

/**
 * Measures both alternately, so that other load on the machine affects both equally. The first rounds warm up and are
 * discarded.
 * @param warmUpRounds more than one for new processes, which otherwise earlier scenarios would have warmed up
 */
export const alternate = async <Measured = number>(
  rounds: number,
  ours: () => Promise<Measured>,
  baseline: () => Promise<Measured>,
  warmUpRounds = 1,
): Promise<Alternation<Measured>> => {
  const results = { ours: [] as Measured[], baseline: [] as Measured[] };
  const loopDelaysMs: number[] = [];
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    const theirs = await baseline();
    for (const observer of observers) await observer.begin();
    const own = await ours();
    const delays: (number | undefined)[] = [];
    for (const observer of observers) delays.push(await observer.end());
    const delayMs = delays.find((delay) => delay !== undefined);
    if (round < warmUpRounds) continue;
    results.ours.push(own);
    results.baseline.push(theirs);
    if (delayMs !== undefined) loopDelaysMs.push(delayMs);
  }
  return loopDelaysMs.length === 0 ? results : { ...results, loopDelaysMs };
};

/**
 * Alternates between several candidates and several baselines, each measured once in a round.
 * @returns selects one candidate and one baseline by index
 */
export const alternateAmong = async <Measured = number>(
  rounds: number,
  ours: readonly (() => Promise<Measured>)[],
  baselines: readonly (() => Promise<Measured>)[],
  warmUpRounds = 1,
): Promise<(our: number, baseline: number) => Alternation<Measured>> => {
  const oneByOne = async (measures: readonly (() => Promise<Measured>)[]): Promise<readonly Measured[]> => {
    const results: Measured[] = [];
    for (const measure of measures) results.push(await measure());
    return results;
  };
  const among = await alternate(
    rounds,
    () => oneByOne(ours),
    () => oneByOne(baselines),
    warmUpRounds,
  );
  const column = (rows: readonly (readonly Measured[])[], n: number): Measured[] =>
    rows.flatMap((row) => row.slice(n, n + 1));
  return (our, baseline) => ({
    ...among,
    ours: column(among.ours, our),
    baseline: column(among.baseline, baseline),
  });
};

/**
 * Computes the medians, and whether the goal is met. The ratio is the median of the pairs' ratios: other load on the
 * machine varies, but affects both of a pair.
 */
export const lineOf = (comparison: Comparison): Line => {
  const { goal, atMost, ours, baseline } = comparison;
  const oursMedian = median(ours);
  const compared: Pick<Line, 'ratio' | 'baselineMedian'> =
    baseline === undefined ? {} : ratioOf(ours, baseline);
  const reached = compared.ratio ?? oursMedian;
  const ofGoal = goal === undefined ? undefined : atMost === true ? goal / reached : reached / goal;
  const verdict = ofGoal === undefined ? {} : { ofGoal, met: ofGoal >= 1 };
  return { ...comparison, oursMedian, ...compared, ...verdict };
};

const ratioOf = (
  ours: readonly number[],
  baseline: readonly number[],
): { ratio: number; baselineMedian: number } => ({
  baselineMedian: median(baseline),
  ratio: median(ours.map((one, at) => one / (baseline[at] ?? Number.NaN))),
});

/** Three digits, or a whole number from 100 on. */
export const figureText = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

const spread = (values: readonly number[]): string =>
  values.length < 2 ? '' : ` (${figureText(Math.min(...values))}..${figureText(Math.max(...values))})`;

/** The goal, e.g. `>= 1.5x` or `<= 200 MB`; empty without a goal. */
export const goalText = ({ goal, atMost, ratio, unit }: Line): string =>
  goal === undefined
    ? ''
    : `${atMost === true ? '<=' : '>='} ${Number(goal.toPrecision(3))}${ratio === undefined ? ` ${unit}` : 'x'}`;

/** Whether the goal is met; empty without a goal. */
export const metText = ({ met }: Line): string => (met === undefined ? '' : met ? 'met' : 'MISSED');

/** The service's median with its spread. */
export const oursText = ({ oursMedian, unit, ours }: Line): string =>
  `${figureText(oursMedian)} ${unit}${spread(ours)}`;

/** The baseline's name, median and spread; empty without a baseline. */
export const baselineText = ({ baseline, baselineName = '', baselineMedian = 0 }: Line): string =>
  baseline === undefined ? '' : `${baselineName}: ${figureText(baselineMedian)}${spread(baseline)}`;

export const ratioText = ({ ratio }: Line): string => (ratio === undefined ? '' : `${ratio.toFixed(2)}x`);

export const columns = {
  what: ({ name }: Line): string => name,
  'ours: median (spread)': oursText,
  baseline: baselineText,
  ratio: ratioText,
  goal: (line: Line): string => `${goalText(line)} ${metText(line)}`.trim(),
  'of goal': ({ ofGoal }: Line): string => ofGoal?.toFixed(2) ?? '',
  note: ({ note, loopDelaysMs }: Line): string =>
    [
      note,
      loopDelaysMs === undefined ? undefined : `event-loop delay p99 ${figureText(median(loopDelaysMs))} ms`,
    ]
      .filter((part) => part !== undefined)
      .join('; '),
} as const;

/** Rows as an aligned table, also valid Markdown. The first row is the head. */
export const alignedTable = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...body] = rows;
  const widths = head.map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? '').length)));
  const text = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [text(head), rule, ...body.map(text)].join('\n');
};

/** All columns of the lines, as a table. */
export const tableOf = (lines: readonly Line[]): string =>
  alignedTable([
    Object.keys(columns),
    ...lines.map((line) => Object.values(columns).map((column) => column(line))),
  ]);
