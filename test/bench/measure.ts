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
}

export interface Line extends Comparison {
  readonly oursMedian: number;
  readonly baselineMedian?: number;
  readonly ratio?: number;
  readonly met?: boolean;
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
};

/** Runs both in turn, so that the machine's moods hit both alike; the first round warms up and is dropped. */
export const alternate = async <Measured = number>(
  rounds: number,
  ours: () => Promise<Measured>,
  baseline: () => Promise<Measured>,
): Promise<{ ours: Measured[]; baseline: Measured[] }> => {
  const results = { ours: [] as Measured[], baseline: [] as Measured[] };
  for (let round = 0; round <= rounds; round++) {
    const theirs = await baseline();
    const own = await ours();
    if (round === 0) continue;
    results.ours.push(own);
    results.baseline.push(theirs);
  }
  return results;
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
  const met = goal === undefined ? {} : { met: atMost === true ? reached <= goal : reached >= goal };
  return { ...comparison, oursMedian, ...compared, ...met };
};

const ratioOf = (
  ours: readonly number[],
  baseline: readonly number[],
): { ratio: number; baselineMedian: number } => ({
  baselineMedian: median(baseline),
  ratio: median(ours.map((one, at) => one / (baseline[at] ?? Number.NaN))),
});

const figure = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

const spread = (values: readonly number[]): string =>
  values.length < 2 ? '' : ` (${figure(Math.min(...values))}..${figure(Math.max(...values))})`;

const cellsOf = (line: Line): string[] => {
  const { ratio, goal, atMost, met, unit, baseline, baselineName = '', baselineMedian = 0 } = line;
  const sign = atMost === true ? '<=' : '>=';
  const goalUnit = ratio === undefined ? ` ${unit}` : 'x';
  return [
    line.name,
    `${figure(line.oursMedian)} ${unit}${spread(line.ours)}`,
    baseline === undefined ? '' : `${baselineName}: ${figure(baselineMedian)}${spread(baseline)}`,
    ratio === undefined ? '' : `${ratio.toFixed(2)}x`,
    goal === undefined ? '' : `${sign} ${goal}${goalUnit} ${met === true ? 'met' : 'MISSED'}`,
    line.note ?? '',
  ];
};

/** The lines as an aligned table, which is Markdown too. */
export const tableOf = (lines: readonly Line[]): string => {
  const head = ['what', 'ours: median (spread)', 'baseline', 'ratio', 'goal', 'note'];
  const rows = [head, ...lines.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const text = ([...row]: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [text(head), rule, ...rows.slice(1).map(text)].join('\n');
};
