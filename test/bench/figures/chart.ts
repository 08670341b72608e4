import { baselineText, figureText, goalText, ratioText, type Line } from '../measure.ts';

const NAME_WIDTH = 470;
const BAR_WIDTH = 460;
const RESULT_WIDTH = 190;
const MARGIN = 16;
const ROW = 22;
const TOP = 74;
const CAPTION_LINE = 16;
const WIDTH = MARGIN + NAME_WIDTH + BAR_WIDTH + RESULT_WIDTH + MARGIN;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The exponents of two around the values and 1, at least one on each side. */
const scaleOf = (values: readonly number[]): { low: number; high: number } => ({
  low: Math.min(-1, Math.floor(Math.log2(Math.min(1, ...values)))),
  high: Math.max(1, Math.ceil(Math.log2(Math.max(1, ...values)))),
});

const tickText = (power: number): string => (power < 0 ? `1/${2 ** -power}` : `${2 ** power}`);

/** Breaks text between words. */
const wrapped = (text: string, lengthMax: number): readonly string[] =>
  text.split(' ').reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= lengthMax) return [...lines, word];
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .faint { fill: #59636e; }
  .grid { stroke: #d1d9e0; }
  .goal { stroke: #1f2328; stroke-width: 2; }
  .met { fill: #1a7f5a; }
  .missed { fill: url(#hatched); stroke: #b3460a; }
  .hatch { stroke: #b3460a; stroke-width: 3; }
  .other { fill: #afb8c1; }
  .page { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .faint { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .goal { stroke: #e6edf3; }
    .met { fill: #3fb68b; }
    .missed { stroke: #f0883e; }
    .hatch { stroke: #f0883e; }
    .other { fill: #59636e; }
    .page { fill: #0d1117; }
  }`;

/**
 * Bars that show the ratio to each goal on a logarithmic scale, with a line at the goal. Bars of met goals are filled,
 * of missed goals hatched, and both are labelled. Lines without a goal are omitted.
 * @param caption the conditions of the figures: machine, versions, date, command, load
 * @returns an SVG document that is readable in light and dark mode
 */
export const chartOf = (title: string, lines: readonly Line[], caption: readonly string[]): string => {
  const shown = lines.flatMap((line) => (line.ofGoal === undefined ? [] : [{ line, ofGoal: line.ofGoal }]));
  const { low, high } = scaleOf(shown.map(({ ofGoal }) => ofGoal));
  const left = MARGIN + NAME_WIDTH;
  const x = (power: number): number => Number((left + ((power - low) / (high - low)) * BAR_WIDTH).toFixed(1));
  const bottom = TOP + shown.length * ROW;
  const captionLines = caption.flatMap((text) => wrapped(text, 172));
  const height = bottom + 20 + captionLines.length * CAPTION_LINE + MARGIN;
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => low + n).map(
    (power) =>
      `<line class="grid" x1="${x(power)}" x2="${x(power)}" y1="${TOP - 6}" y2="${bottom}"/>` +
      `<text class="faint" x="${x(power)}" y="${TOP - 12}" text-anchor="middle">${tickText(power)}</text>`,
  );
  const bars = shown.map(({ line, ofGoal }, n) => barOf(line, ofGoal, TOP + n * ROW, x));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}\n</style>`,
    '<defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" x2="0" y1="0" y2="6"/></pattern></defs>',
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    `<text class="title" x="${MARGIN}" y="26">${escaped(title)}</text>`,
    `<text class="faint" x="${MARGIN}" y="44">What was reached as a multiple of the goal: 1 is the goal, more is better. Filled: met. Hatched: missed.</text>`,
    ...ticks,
    ...bars,
    `<line class="goal" x1="${x(0)}" x2="${x(0)}" y1="${TOP - 6}" y2="${bottom}"/>`,
    ...captionLines.map(
      (text, n) =>
        `<text class="faint" x="${MARGIN}" y="${bottom + 24 + n * CAPTION_LINE}">${escaped(text)}</text>`,
    ),
    '</svg>',
    '',
  ].join('\n');
};

/** Wide enough to be visible on both sides of the goal's line. */
const BAR_WIDTH_MIN = 3;
const NAME_LENGTH_MAX = 80;
const shortened = (text: string): string =>
  text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX - 1)}…` : text;

const barOf = (line: Line, ofGoal: number, y: number, x: (power: number) => number): string => {
  const [end, goal] = [x(Math.log2(ofGoal)), x(0)];
  const width = Math.max(BAR_WIDTH_MIN, Math.abs(end - goal));
  const from = (end < goal ? goal - width : goal).toFixed(1);
  const kind = ofGoal >= 1 ? 'met' : 'missed';
  const baseline = line.baselineName === undefined ? '' : ` / ${line.baselineName}`;
  const reached = line.ratio === undefined ? `${figureText(line.oursMedian)} ${line.unit}` : ratioText(line);
  const label = `${kind}: ${reached}, goal ${goalText(line)}`;
  const middle = y + ROW / 2 + 4;
  return [
    `<g><title>${escaped(`${line.name}: ${label}. ${baselineText(line)}`)}</title>`,
    `<text x="${MARGIN + NAME_WIDTH - 8}" y="${middle}" text-anchor="end" font-size="11">${escaped(shortened(`${line.name}${baseline}`))}</text>`,
    `<rect class="${kind}" x="${from}" y="${y + 4}" width="${width.toFixed(1)}" height="${ROW - 8}"/>`,
    `<text x="${MARGIN + NAME_WIDTH + BAR_WIDTH + 8}" y="${middle}">${escaped(label)}</text></g>`,
  ].join('');
};

const PAIR = 50;
const PAIR_TOP = 64;
const PAIR_NAME_WIDTH = 330;
const PAIR_BAR_WIDTH = 400;
const PAIR_WIDTH = MARGIN + PAIR_NAME_WIDTH + PAIR_BAR_WIDTH + 330 + MARGIN;

const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });

export interface PairChart {
  readonly title: string;
  readonly subtitle: string;
  readonly lines: readonly Line[];
  /** The label of a line, instead of its name. */
  readonly labelOf?: (line: Line) => string;
  /** The name of this service's bar. */
  readonly oursName: string;
}

/** Two bars for each line, the service and the baseline, on one linear scale from 0. */
export const pairChartOf = ({
  title,
  subtitle,
  lines,
  oursName,
  labelOf = ({ name }) => name,
}: PairChart): string => {
  const highest = Math.max(
    ...lines.flatMap(({ oursMedian, baselineMedian = 0 }) => [oursMedian, baselineMedian]),
    0,
  );
  const height = PAIR_TOP + lines.length * PAIR + MARGIN;
  const bar = (y: number, kind: string, value: number, text: string): string => {
    const width = highest === 0 ? 0 : (value / highest) * PAIR_BAR_WIDTH;
    const x = MARGIN + PAIR_NAME_WIDTH;
    return (
      `<rect class="${kind}" x="${x}" y="${y}" width="${width.toFixed(1)}" height="16"/>` +
      `<text x="${(x + width + 8).toFixed(1)}" y="${y + 12}">${escaped(text)}</text>`
    );
  };
  const pairs = lines.map((line, n) => {
    const y = PAIR_TOP + n * PAIR;
    const { unit, oursMedian, baselineMedian = 0, baselineName = '' } = line;
    const space = unit.startsWith('/') ? unit : ` ${unit}`;
    return [
      `<text x="${MARGIN + PAIR_NAME_WIDTH - 8}" y="${y + 22}" text-anchor="end">${escaped(labelOf(line))}</text>`,
      bar(y, 'met', oursMedian, `${NUMBER.format(oursMedian)}${space}, ${oursName}`),
      bar(y + 18, 'other', baselineMedian, `${NUMBER.format(baselineMedian)}${space}, ${baselineName}`),
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${PAIR_WIDTH} ${height}" width="${PAIR_WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}\n</style>`,
    `<rect class="page" width="${PAIR_WIDTH}" height="${height}"/>`,
    `<text class="title" x="${MARGIN}" y="26">${escaped(title)}</text>`,
    `<text class="faint" x="${MARGIN}" y="46">${escaped(subtitle)}</text>`,
    ...pairs,
    '</svg>',
    '',
  ].join('\n');
};
