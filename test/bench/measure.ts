/** One measured line: ours, and what it is compared with, both taken in alternation in one run. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** Absent: ours stands alone, and a goal is a figure in `unit`. */
  readonly baseline?: readonly number[];
  readonly baselineName?: string;
  /** What to reach: the ratio ours / baseline, pair by pair; a limit when `atMost`. */
  readonly goal?: number;
  readonly atMost?: boolean;
  readonly note?: string;
  /** The event loop's delay in our processes during each of our turns, p99, ms; only of a run with `--profile`. */
  readonly loopDelaysMs?: readonly number[];
}

export interface Line extends Comparison {
  readonly oursMedian: number;
  readonly baselineMedian?: number;
  readonly ratio?: number;
  /** What was reached as a share of the goal, so that 1 and more is met, also where the goal is a limit. */
  readonly ofGoal?: number;
  readonly met?: boolean;
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
};

/** The value below which that share of them is; 0 of none. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

/** Looks at what we do during each of our turns. */
export interface TurnObserver {
  begin(): Promise<void>;
  /** The event loop's delay since then, p99, ms; undefined of one that does not look at that, or where no process of ours runs. */
  end(): Promise<number | undefined>;
}

let observers: readonly TurnObserver[] = [];

/** Has all turns of ours looked at that are still to come. */
export const observeTurns = (by: readonly TurnObserver[]): void => {
  observers = by;
};

export interface Alternation<Measured> {
  readonly ours: Measured[];
  readonly baseline: Measured[];
  readonly loopDelaysMs?: number[];
}

/**
 * Runs both in turn, so that the machine's moods hit both alike; the first rounds warm up and are dropped.
 * @param warmUpRounds more than one where processes are new that others would have warmed up
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
 * The same with several of each in every round: each of ours beside each of the others, without being measured again for it.
 * @returns one of ours with one of the baselines, by their numbers
 */
export const alternateAmong = async (
  rounds: number,
  ours: readonly (() => Promise<number>)[],
  baselines: readonly (() => Promise<number>)[],
): Promise<(our: number, baseline: number) => Alternation<number>> => {
  const inTurn = async (turns: readonly (() => Promise<number>)[]): Promise<readonly number[]> => {
    const taken: number[] = [];
    for (const turn of turns) taken.push(await turn());
    return taken;
  };
  const among = await alternate(
    rounds,
    () => inTurn(ours),
    () => inTurn(baselines),
  );
  const column = (rows: readonly (readonly number[])[], n: number): number[] =>
    rows.map((row) => row[n] ?? Number.NaN);
  return (our, baseline) => ({
    ...among,
    ours: column(among.ours, our),
    baseline: column(among.baseline, baseline),
  });
};

/**
 * Medians, and whether the goal is met. The ratio is the median of those of the pairs: what else goes on on the machine
 * comes and goes, and both of a pair have met the same.
 */
export const lineOf = (comparison: Comparison): Line => {
  const { goal, atMost, ours, baseline } = comparison;
  const oursMedian = median(ours);
  const compared: Pick<Line, 'ratio' | 'baselineMedian'> =
    baseline === undefined ? {} : ratioOf(ours, baseline);
  const reached = compared.ratio ?? oursMedian;
  const ofGoal = goal === undefined ? undefined : atMost === true ? goal / reached : reached / goal;
  const told = ofGoal === undefined ? {} : { ofGoal, met: ofGoal >= 1 };
  return { ...comparison, oursMedian, ...compared, ...told };
};

const ratioOf = (
  ours: readonly number[],
  baseline: readonly number[],
): { ratio: number; baselineMedian: number } => ({
  baselineMedian: median(baseline),
  ratio: median(ours.map((one, at) => one / (baseline[at] ?? Number.NaN))),
});

/** Three digits, or whole ones of what is larger. */
export const figureText = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

const spread = (values: readonly number[]): string =>
  values.length < 2 ? '' : ` (${figureText(Math.min(...values))}..${figureText(Math.max(...values))})`;

/** What is to be reached, e.g. `>= 1.5x` or `<= 200 MB`; empty without a goal. */
export const goalText = ({ goal, atMost, ratio, unit }: Line): string =>
  goal === undefined
    ? ''
    : `${atMost === true ? '<=' : '>='} ${Number(goal.toPrecision(3))}${ratio === undefined ? ` ${unit}` : 'x'}`;

/** Whether the goal is reached; empty without one. */
export const metText = ({ met }: Line): string => (met === undefined ? '' : met ? 'met' : 'MISSED');

/** Our median with its spread. */
export const oursText = ({ oursMedian, unit, ours }: Line): string =>
  `${figureText(oursMedian)} ${unit}${spread(ours)}`;

/** What ours is compared with, its median and spread; empty where ours stands alone. */
export const baselineText = ({ baseline, baselineName = '', baselineMedian = 0 }: Line): string =>
  baseline === undefined ? '' : `${baselineName}: ${figureText(baselineMedian)}${spread(baseline)}`;

export const ratioText = ({ ratio }: Line): string => (ratio === undefined ? '' : `${ratio.toFixed(2)}x`);

/** Columns of a line, as text. */
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

/** Rows as an aligned table, which is Markdown too; the first one is its head. */
export const alignedTable = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...body] = rows;
  const widths = head.map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? '').length)));
  const text = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [text(head), rule, ...body.map(text)].join('\n');
};

/** The lines as a table with all columns. */
export const tableOf = (lines: readonly Line[]): string =>
  alignedTable([
    Object.keys(columns),
    ...lines.map((line) => Object.values(columns).map((column) => column(line))),
  ]);
