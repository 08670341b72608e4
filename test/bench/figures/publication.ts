import type { Line } from '../measure.ts';
import { chartOf, pairChartOf } from './chart.ts';
import type { Figures } from './figures.ts';
import { mainLinesOf } from './main-lines.ts';
import {
  absoluteFigures,
  captionOf,
  latestFigures,
  latestProfiles,
  mainLinesSection,
  missedGoals,
  missedInShort,
  withSection,
} from './sections.ts';

export const documentPaths = ['docs/performance.md'] as const;
const PERFORMANCE = 'docs/performance.md';
const RESULTS = 'test/bench/results';
/** The source of all published pages. */
export const FIGURES_PATH = `${RESULTS}/performance.json`;

/** Hand-written pages that contain sections of figures, keyed by path. */
export type Documents = Readonly<Record<(typeof documentPaths)[number], string>>;

const withSections = (document: string, sections: Readonly<Record<string, string>>): string =>
  Object.entries(sections).reduce((text, [name, section]) => withSection(text, name, section), document);

const latest = (figures: Figures): string =>
  `${[
    '# Latest figures',
    '`npm run bench:publish` writes this page from [performance.json](performance.json). [Summary and method](../../../docs/performance.md), [notes](notes.md).',
    '## Main lines',
    mainLinesSection(figures),
    '## All lines',
    latestFigures(figures),
    '## Processor time',
    latestProfiles(figures),
    '## Missed goals',
    missedGoals(figures),
  ].join('\n\n')}\n`;

const linesOf = (figures: Figures, wanted: readonly string[]): readonly Line[] =>
  figures.scenarios.filter(({ scenario }) => wanted.includes(scenario)).flatMap(({ lines }) => lines);

const throughputChart = (figures: Figures): string =>
  pairChartOf({
    title: 'Requests per second',
    subtitle:
      'Longer is better. Medians of one run on one machine; the peers have no accounts, events or checks.',
    oursName: 'this service',
    lines: linesOf(figures, ['read', 'detail', 'create']).filter(
      ({ unit, baselineName }) => unit === '/s' && baselineName !== undefined,
    ),
  });

const LARGE = /, 1,000,000 \w+$/;

const growthChart = (figures: Figures): string =>
  pairChartOf({
    title: 'Growth from a thousand to a million',
    subtitle: 'Milliseconds for one request. Bars of equal length mean that growth costs nothing.',
    oursName: '1,000,000',
    labelOf: ({ name }) => name.replace(LARGE, ''),
    lines: linesOf(figures, ['growth', 'growth-lists']).filter(
      ({ name, unit, baselineName = '' }) =>
        unit === 'ms' &&
        LARGE.test(name) &&
        baselineName.startsWith('1,000 ') &&
        !/quarter|one |role/.test(name),
    ),
  });

/** All pages with the given figures, the charts, and the figures themselves, keyed by path. */
export const publicationOf = (figures: Figures, documents: Documents): Readonly<Record<string, string>> => ({
  [PERFORMANCE]: withSections(documents[PERFORMANCE], {
    'absolute figures': absoluteFigures(figures),
    'missed goals': missedInShort(figures),
  }),
  'docs/performance-throughput.svg': throughputChart(figures),
  'docs/performance-growth.svg': growthChart(figures),
  [`${RESULTS}/latest.md`]: latest(figures),
  [`${RESULTS}/goals.svg`]: chartOf(
    'Buyer Exchange: what was reached of each goal',
    mainLinesOf(figures),
    captionOf(figures),
  ),
  [FIGURES_PATH]: `${JSON.stringify(figures, null, 2)}\n`,
});
