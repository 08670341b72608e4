import { machineText } from '../machine.ts';
import { alignedTable, columns, goalText, metText, oursText, baselineText, ratioText } from '../measure.ts';
import type { Figures, RunFigures } from './figures.ts';
import { mainLinesOf } from './main-lines.ts';

const loadText = (load: number): string => load.toFixed(1);

const runText = ({ command, startedAt, loadAtStart, loadAtEnd, machine }: RunFigures): string =>
  `\`${command}\`, ${startedAt.slice(0, 16).replace('T', ' ')} UTC, load ${loadText(loadAtStart)} at its start and ` +
  `${loadText(loadAtEnd)} at its end, on ${machine.cores} cores` +
  // A processor each would have had something else to do half of the time.
  (loadAtStart > machine.cores / 2 ? ': **the machine was busy with other work**' : '');

const machinesOf = (figures: Figures): readonly string[] => [
  ...new Set(Object.values(figures.runs).map(({ machine }) => machineText(machine))),
];

/** Where, when and how figures were taken, for a caption. */
export const captionOf = (figures: Figures): readonly string[] => [
  ...machinesOf(figures),
  ...Object.values(figures.runs).map((run) => runText(run).replaceAll(/[`*]/g, '')),
];

const tallyOf = (lines: readonly { readonly met?: boolean }[]): string => {
  const withGoal = lines.filter(({ met }) => met !== undefined);
  return `${withGoal.filter(({ met }) => met === true).length} of ${withGoal.length}`;
};

/** The README's section: the main lines, and what they were taken with. */
export const readmeSection = (figures: Figures): string => {
  const lines = mainLinesOf(figures);
  const all = figures.scenarios.flatMap((taken) => taken.lines);
  const rows = lines.map((line) => [
    line.name,
    goalText(line),
    oursText(line),
    baselineText(line),
    ratioText(line),
    metText(line),
  ]);
  return [
    'The service and what it is compared with, in turn in one run on one machine; medians, with the least and the most in',
    'brackets. A ratio is the median of those of the pairs.',
    `Of the goals of all lines ${tallyOf(all)} are met, of those shown here ${tallyOf(lines)}.`,
    '[All lines, what is missed, and why](docs/performance.md#latest-figures).',
    '',
    '![What was reached of each goal](docs/performance.svg)',
    '',
    alignedTable([['what', 'goal', 'ours', 'baseline', 'ratio', ''], ...rows]),
    '',
    ...takenWith(figures),
  ].join('\n');
};

const takenWith = (figures: Figures): readonly string[] => [
  ...machinesOf(figures).map((text) => `- ${text}`),
  ...Object.values(figures.runs).map((run) => `- ${runText(run)}`),
];

/** All lines, for `docs/performance.md`; each with the load before and after its scenario, the benchmark's own in it. */
export const latestFigures = (figures: Figures): string => {
  const severalRuns = Object.keys(figures.runs).length > 1;
  const rows = figures.scenarios.flatMap(({ scenario, run, loadBefore, loadAfter, lines }) =>
    lines.map((line) => [
      scenario,
      ...Object.values(columns).map((column) => column(line)),
      `${loadText(loadBefore)} to ${loadText(loadAfter)}`,
      ...(severalRuns ? [run.slice(0, 16).replace('T', ' ')] : []),
    ]),
  );
  const head = ['scenario', ...Object.keys(columns), 'load', ...(severalRuns ? ['run'] : [])];
  return [...takenWith(figures), '', alignedTable([head, ...rows])].join('\n');
};

const markers = (name: string): readonly [begin: string, end: string] => [
  `<!-- ${name}: made from docs/performance.json by \`npm run bench:publish\` -->`,
  `<!-- end of ${name} -->`,
];

/**
 * A document with what is between two marks replaced.
 * @throws when it lacks the marks
 */
export const withSection = (document: string, name: string, section: string): string => {
  const [begin, end] = markers(name);
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no "${begin}" with "${end}" after it`);
  return `${document.slice(0, from + begin.length)}\n\n${section}\n\n${document.slice(to)}`;
};
