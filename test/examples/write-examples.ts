import type { Example } from '../../shared/http/examples.ts';

/** One line for each operation: a change of one is a change of one line. */
export const writeExamples = (examples: Readonly<Record<string, Example>>): string => {
  const lines = Object.entries(examples).map(
    ([id, example]) => `${JSON.stringify(id)}: ${JSON.stringify(example)}`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
};
