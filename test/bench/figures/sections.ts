import { machineText } from '../machine.ts';
import {
  alignedTable,
  columns,
  figureText,
  goalText,
  metText,
  oursText,
  baselineText,
  ratioText,
  type Line,
} from '../measure.ts';
import type { Figures, RunFigures, ScenarioFigures } from './figures.ts';
import { mainLinesMissing, mainLinesOf } from './main-lines.ts';
import type { ProfileFigures } from './profile.ts';

const loadText = (load: number): string => load.toFixed(1);

const runText = ({ command, startedAt, loadAtStart, loadAtEnd, machine, failed }: RunFigures): string =>
  `\`${command}\`, ${startedAt.slice(0, 16).replace('T', ' ')} UTC, load ${loadText(loadAtStart)} at its start and ` +
  `${loadText(loadAtEnd)} at its end, on ${machine.cores} cores` +
  // At this load, each processor had other work for half of the time.
  (loadAtStart > machine.cores / 2 ? ': **the machine was busy with other work**' : '') +
  ((failed?.length ?? 0) > 0 ? `; failed: ${failed?.join(', ')}` : '');

const machinesOf = (runs: readonly RunFigures[]): readonly string[] => [
  ...new Set(runs.map(({ machine }) => machineText(machine))),
];

/** The runs that measured the lines or profiles. */
const runsOf = (
  { runs, scenarios }: Figures,
  runOf: (taken: ScenarioFigures) => string | undefined = ({ run }) => run,
): readonly RunFigures[] => {
  const used = new Set(scenarios.map(runOf));
  return Object.values(runs).filter(({ startedAt }) => used.has(startedAt));
};

/** The conditions of the figures, for a caption. */
export const captionOf = (figures: Figures): readonly string[] => {
  const runs = runsOf(figures);
  return [...machinesOf(runs), ...runs.map((run) => runText(run).replaceAll(/[`*]/g, ''))];
};

const tallyOf = (lines: readonly { readonly met?: boolean }[]): string => {
  const withGoal = lines.filter(({ met }) => met !== undefined);
  return `${withGoal.filter(({ met }) => met === true).length} of ${withGoal.length}`;
};

/** The main lines and their conditions, for `latest.md`. */
export const mainLinesSection = (figures: Figures): string => {
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
    'The service and its peers, measured in turn in one run on one machine: medians, with the least and the most in',
    'brackets. A ratio is the median of the ratios of the pairs.',
    `All lines together meet ${tallyOf(all)} goals; those shown here meet ${tallyOf(lines)}.`,
    '',
    '![What was reached of each goal](goals.svg)',
    '',
    alignedTable([['what', 'goal', 'ours', 'baseline', 'ratio', ''], ...rows]),
    '',
    ...notTaken(figures),
    ...takenWith(runsOf(figures)),
  ].join('\n');
};

/** A main line without a figure is listed. */
const notTaken = (figures: Figures): readonly string[] => {
  const missing = mainLinesMissing(figures);
  return missing.length === 0 ? [] : [`- not measured: ${missing.join('; ')}`];
};

const takenWith = (runs: readonly RunFigures[]): readonly string[] => [
  ...machinesOf(runs).map((text) => `- ${text}`),
  ...runs.map((run) => `- ${runText(run)}`),
];

/** All lines, for `latest.md`. Each has the load before and after its scenario, including the benchmark's own load. */
export const latestFigures = (figures: Figures): string => {
  const runs = runsOf(figures);
  const severalRuns = runs.length > 1;
  const rows = figures.scenarios.flatMap(({ scenario, run, loadBefore, loadAfter, lines }) =>
    lines.map((line) => [
      scenario,
      ...Object.values(columns).map((column) => column(line)),
      `${loadText(loadBefore)} to ${loadText(loadAfter)}`,
      ...(severalRuns ? [run.slice(0, 16).replace('T', ' ')] : []),
    ]),
  );
  const head = ['scenario', ...Object.keys(columns), 'load', ...(severalRuns ? ['run'] : [])];
  return [...takenWith(runs), '', alignedTable([head, ...rows])].join('\n');
};

/** False for lines in the growth chart. */
const isNotGrowth = ({ baselineName = '' }: Line): boolean =>
  !/^[\d,]+ (?:advertisers|records)$/.test(baselineName);

/** The figures of the main lines and of their peers, without goals, for `docs/performance.md`. */
export const absoluteFigures = (figures: Figures): string =>
  [
    alignedTable([
      ['what', 'this service', 'compared with'],
      ...mainLinesOf(figures)
        .filter(isNotGrowth)
        .map(({ name, unit, oursMedian, baselineName, baselineMedian = 0 }) => [
          name,
          `${figureText(oursMedian)} ${unit}`,
          baselineName === undefined ? '' : `${figureText(baselineMedian)}: ${baselineName}`,
        ]),
    ]),
    '',
    ...machinesOf(runsOf(figures)).map((text) => `- ${text}`),
  ].join('\n');

/** Each missed goal in short form, for `docs/performance.md`. */
export const missedInShort = ({ scenarios }: Figures): string =>
  alignedTable([
    ['what', 'compared with', 'goal', 'reached'],
    ...scenarios.flatMap(({ lines }) =>
      lines
        .filter(({ met }) => met === false)
        .map((line) => [
          line.name,
          line.baselineName ?? '',
          goalText(line),
          line.ratio === undefined ? oursText(line) : ratioText(line),
        ]),
    ),
  ]);

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** A profile in one line. */
export const profileText = (
  { busy, parts, loopDelayMs }: Omit<ProfileFigures, 'run'>,
  partsMax: number = parts.length,
): string =>
  [
    `busy ${percent(busy)}`,
    ...(loopDelayMs === undefined ? [] : [`event-loop delay p99 ${figureText(loopDelayMs)} ms`]),
    parts
      .slice(0, partsMax)
      .filter(({ share }) => share >= 0.01)
      .map(({ part, share }) => `${part} ${percent(share)}`)
      .join(', '),
  ].join('; ');

/** The service's processor time by scenario, for `latest.md`. */
export const latestProfiles = (figures: Figures): string => {
  const rows = figures.scenarios.flatMap(({ scenario, profile }) =>
    profile === undefined
      ? []
      : [[scenario, profileText(profile), profile.run.slice(0, 16).replace('T', ' ')]],
  );
  if (rows.length === 0) return 'No profile was taken.';
  return [
    ...takenWith(runsOf(figures, ({ profile }) => profile?.run)),
    '',
    alignedTable([['scenario', "the service's processor time", 'run'], ...rows]),
  ].join('\n');
};

/** The profile of a missed line has at most this many parts. */
const MISSED_PARTS_MAX = 6;

/** Each missed goal with the profile of its scenario, for `latest.md`. */
export const missedGoals = ({ scenarios }: Figures): string => {
  const rows = scenarios.flatMap((taken) =>
    taken.lines
      .filter(({ met }) => met === false)
      .map((line) => [
        taken.scenario,
        line.name,
        columns['of goal'](line),
        taken.profile === undefined
          ? `none so far: \`npm run bench -- --only ${taken.scenario} --profile profiles\``
          : profileText(taken.profile, MISSED_PARTS_MAX),
      ]),
  );
  return rows.length === 0
    ? 'None.'
    : alignedTable([['scenario', 'what', 'of goal', "the service's processor time"], ...rows]);
};

const markers = (name: string): readonly [begin: string, end: string] => [
  `<!-- ${name}: made from test/bench/results/performance.json by \`npm run bench:publish\` -->`,
  `<!-- end of ${name} -->`,
];

/**
 * Replaces the text between two markers.
 * @throws Error if the document lacks a marker
 */
export const withSection = (document: string, name: string, section: string): string => {
  const [begin, end] = markers(name);
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no "${begin}" with "${end}" after it`);
  return `${document.slice(0, from + begin.length)}\n\n${section}\n\n${document.slice(to)}`;
};
