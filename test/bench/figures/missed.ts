import type { Figures } from './figures.ts';

/** The lines of a scenario whose names begin with `name`. */
interface Explanation {
  readonly scenario: string;
  readonly name: string;
}

const HEADING = '## What is missed, and why';

/** The first cells of that section's table: `` `scenario` beginning of a line's name ``, separated by `<br>`. */
const explainedIn = (document: string): readonly Explanation[] => {
  const section = document.slice(document.indexOf(HEADING) + HEADING.length).split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| (`[^|]+)\|/gm)]
    .flatMap(([, cell = '']) => cell.split('<br>'))
    .map((text) => /^`([^`]+)` *(.*)$/.exec(text.trim()))
    .map((match) => ({ scenario: match?.[1] ?? '', name: match?.[2] ?? '' }));
};

/** Missed goals that `test/bench/results/notes.md` does not explain. */
export const unexplained = ({ scenarios }: Figures, document: string): readonly string[] => {
  const explained = explainedIn(document);
  return scenarios.flatMap(({ scenario, lines }) =>
    lines
      .filter(({ met }) => met === false)
      .filter(({ name }) => !explained.some((one) => one.scenario === scenario && name.startsWith(one.name)))
      .map(({ name }) => `${scenario}: ${name}`),
  );
};
