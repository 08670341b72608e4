import type { Figures } from './figures.ts';

/** Lines of a scenario whose names begin so. */
interface Explained {
  readonly scenario: string;
  readonly name: string;
}

const HEADING = '## What is missed, and why';

/** First cells of that section's table: `` `scenario` beginning of a line's name ``, several apart by `<br>`. */
const explainedIn = (document: string): readonly Explained[] => {
  const section = document.slice(document.indexOf(HEADING) + HEADING.length).split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| (`[^|]+)\|/gm)]
    .flatMap(([, cell = '']) => cell.split('<br>'))
    .map((text) => /^`([^`]+)` *(.*)$/.exec(text.trim()))
    .map((match) => ({ scenario: match?.[1] ?? '', name: match?.[2] ?? '' }));
};

/** Missed goals of which `test/bench/results/notes.md` does not say what bounds them. */
export const unexplained = ({ scenarios }: Figures, document: string): readonly string[] => {
  const explained = explainedIn(document);
  return scenarios.flatMap(({ scenario, lines }) =>
    lines
      .filter(({ met }) => met === false)
      .filter(({ name }) => !explained.some((one) => one.scenario === scenario && name.startsWith(one.name)))
      .map(({ name }) => `${scenario}: ${name}`),
  );
};
