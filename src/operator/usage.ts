import { STATUSES, type Command, type Options } from './command.ts';

/** The help, made of the commands. */

const INDENT = 2;
const ABOUT_AT = 41;
const WIDTH = 120;

/** @returns of every command, on a terminal of 120 columns */
export const usageOf = (commands: readonly Command[]): string =>
  [
    'Usage: npm run -s exchange -- COMMAND',
    '',
    ...commands.flatMap((one) => [...linesOf(one), ...statusLinesOf(one.statuses ?? {})]),
    '',
    ...wrapped(
      'Every command takes --json: standard output is JSON then and nothing else, one object a line: of a list one for ' +
        'each, of what is done one after the other one when it is done, of everything else one. Progress and errors ' +
        'are on standard error. --help after a command: its help alone. ' +
        `Exit status where nothing else is said: ${meanings(STATUSES)}.`,
      WIDTH,
    ),
    '',
    'A STORE is postgres://..., esdb://..., esdb+discover://..., or embedded: the Postgres of DATA_DIR.',
    'The settings of the service (DATABASE_URL, DATA_DIR, ...) apply here too.',
    '',
  ].join('\n');

/** @returns of one, with what each of its exit statuses means */
export const usageOfOne = (one: Command): string =>
  [
    `Usage: npm run -s exchange -- ${one.name}`,
    '',
    ...linesOf(one),
    ...statusLinesOf({ ...STATUSES, ...one.statuses }),
    '',
  ].join('\n');

const linesOf = (one: Command): readonly string[] => [
  ...entry(synopsisOf(one), one.about),
  ...Object.entries(one.options).flatMap(([name, option]) =>
    option.about === undefined ? [] : entry(`    ${bracketed(name, option)}`, option.about),
  ),
];

const statusLinesOf = (statuses: Readonly<Record<string, string>>): readonly string[] => {
  const text = meanings(statuses);
  return text === '' ? [] : entry('', `Exit status ${text}.`);
};

const meanings = (statuses: Readonly<Record<string, string>>): string =>
  Object.entries(statuses)
    .map(([status, meaning]) => `${status}: ${meaning}`)
    .join('; ');

const synopsisOf = ({ name, places, more, options }: Command): string =>
  [
    name,
    ...places,
    ...(more === undefined ? [] : [`[${more}...]`]),
    ...Object.entries(options)
      .filter(([, { about }]) => about === undefined)
      .map(([option, how]) => bracketed(option, how)),
  ].join(' ');

const bracketed = (name: string, { value, needed, multiple }: Options[string]): string => {
  const word = value === undefined ? `--${name}` : `--${name} ${value}`;
  if (needed === true) return word;
  return multiple === true ? `[${word} ...]` : `[${word}]`;
};

/** What it is on the left, what is said of it on the right; below it, where there is no room. */
const entry = (left: string, about: string): readonly string[] => {
  const head = `${' '.repeat(INDENT)}${left}`;
  const lines = wrapped(about, WIDTH - ABOUT_AT).map((line) => `${' '.repeat(ABOUT_AT)}${line}`);
  const [first = '', ...rest] = lines;
  return head.length < ABOUT_AT ? [`${head}${first.slice(head.length)}`, ...rest] : [head, ...lines];
};

/** @param width characters of a line at most; a longer word has one for itself */
const wrapped = (text: string, width: number): readonly string[] => {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
};

/** The same for programs. */
export const helpValue = ({ name, places, more, options, about, statuses }: Command): object => ({
  command: name,
  places,
  ...(more !== undefined && { more }),
  options: Object.fromEntries(
    Object.entries(options).map(([option, { type, multiple = false, needed = false, about: of }]) => [
      option,
      { type, multiple, needed, ...(of !== undefined && { about: of }) },
    ]),
  ),
  about,
  statuses: { ...STATUSES, ...statuses },
});
