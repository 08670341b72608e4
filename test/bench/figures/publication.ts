import { chartOf } from './chart.ts';
import type { Figures } from './figures.ts';
import { mainLinesOf } from './main-lines.ts';
import {
  captionOf,
  latestFigures,
  latestPlans,
  latestProfiles,
  missedGoals,
  readmeSection,
  withSection,
} from './sections.ts';

export const documentPaths = ['README.md', 'docs/performance.md', 'docs/plans.md'] as const;

/** Files of the project that show figures, by their path. */
export type Documents = Readonly<Record<(typeof documentPaths)[number], string>>;

const withSections = (document: string, sections: Readonly<Record<string, string>>): string =>
  Object.entries(sections).reduce((text, [name, section]) => withSection(text, name, section), document);

/** The documents with these figures in them, the chart, and the figures themselves. */
export const publicationOf = (figures: Figures, documents: Documents): Readonly<Record<string, string>> => ({
  'README.md': withSection(documents['README.md'], 'performance', readmeSection(figures)),
  'docs/performance.md': withSections(documents['docs/performance.md'], {
    'latest figures': latestFigures(figures),
    'latest profiles': latestProfiles(figures),
    'missed goals': missedGoals(figures),
  }),
  'docs/plans.md': withSection(documents['docs/plans.md'], 'latest plans', latestPlans(figures)),
  'docs/performance.svg': chartOf(
    'Buyer Exchange: what was reached of each goal',
    mainLinesOf(figures),
    captionOf(figures),
  ),
  'docs/performance.json': `${JSON.stringify(figures, null, 2)}\n`,
});
