const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

export const pageOf = (...paragraphs: readonly string[]): string => `${paragraphs.join('\n\n')}\n`;

export const GENERATED = '`npm run docs:reference` writes this page from the code.';
