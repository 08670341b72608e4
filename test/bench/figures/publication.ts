import { chartOf } from './chart.ts';
import type { Figures } from './figures.ts';
import { mainLinesOf } from './main-lines.ts';
import { captionOf, latestFigures, readmeSection, withSection } from './sections.ts';

/** Files of the project that show figures, by their path. */
export type Documents = Readonly<Record<'README.md' | 'docs/performance.md', string>>;

/** The documents with these figures in them, the chart, and the figures themselves. */
export const publicationOf = (figures: Figures, documents: Documents): Readonly<Record<string, string>> => ({
  'README.md': withSection(documents['README.md'], 'performance', readmeSection(figures)),
  'docs/performance.md': withSection(
    documents['docs/performance.md'],
    'latest figures',
    latestFigures(figures),
  ),
  'docs/performance.svg': chartOf(
    'Buyer Exchange: what was reached of each goal',
    mainLinesOf(figures),
    captionOf(figures),
  ),
  'docs/performance.json': `${JSON.stringify(figures, null, 2)}\n`,
});
