/**
 * Pages whose commands run. A ` ```sh ` block is run as it is. A ` ```json ` block directly after it shows members of
 * its output. The caller runs blocks that only start programs (`npm start`).
 */
export interface Step {
  readonly command: string;
  /** The text of the `json` block. */
  readonly shown: string | undefined;
}

const BLOCK = /^```sh\n(.*?)\n```$(?:\n+```json\n(.*?)\n```$)?/gms;

const STARTING = /^(?:[A-Z_]+=\S+ )*npm (?:ci|start|run -s sandbox-agent)$/;

export const isStarting = ({ command }: Step): boolean =>
  command.split('\n').every((line) => STARTING.test(line));

export const stepsOf = (page: string): readonly Step[] =>
  [...page.matchAll(BLOCK)].map(([, command = '', shown]) => ({ command, shown }));

/** The settings with which a page starts the service. */
export const settingsOf = (page: string): Readonly<Record<string, string>> => {
  const starts = stepsOf(page).flatMap(({ command }) => command.match(/^.*npm start$/gm) ?? []);
  const settings = starts.flatMap((line) => [...line.matchAll(/([A-Z_]+)=(\S+)/g)]);
  return Object.fromEntries(settings.map(([, name = '', value = '']) => [name, value]));
};

const MARK = '=== end of step ===';

/** A bash script that runs the steps in one shell. */
export const scriptOf = (steps: readonly Step[]): string =>
  steps.map(({ command }) => `${command}\necho\necho '${MARK}'`).join('\n');

/** The output of each step, from the output of the script. */
export const printed = (stdout: string): readonly string[] =>
  stdout
    .split(MARK)
    .slice(0, -1)
    .map((text) => text.trim());

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b([a-z]{3})_[0-9a-f]{32}\b/g, '$1_<id>'],
  [/\bmsg_[0-9a-f-]{36}\b/g, 'msg_<id>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>'],
  [/\bbx_[\w-]{16}_(?:\*{4})?[\w-]+/g, '<key>'],
  [/\bapi-key:[\w-]{16}/g, 'api-key:<id>'],
  [/^[\w-]{16}$/, '<key id>'],
  [/^\d+-\d+$/, '<user>'],
  [/http:\/\/127\.0\.0\.1:\d+/g, '<address>'],
];

const masked = (value: Json): Json => {
  if (typeof value === 'string')
    return VARYING.reduce((text, [pattern, mask]) => text.replace(pattern, mask), value);
  if (Array.isArray(value)) return value.map(masked);
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, masked(member)]));
  return value;
};

const isObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of `actual` that `shown` contains. Where only ids and times differ, the values of `shown`. */
const selected = (shown: Json | undefined, actual: Json): Json => {
  if (shown === undefined) return actual;
  if (Array.isArray(shown) && Array.isArray(actual))
    return actual.map((one: Json, index) => selected(shown[index], one));
  if (isObject(shown) && isObject(actual)) {
    const names = Object.keys(shown).filter((name) => name in actual);
    return Object.fromEntries(names.map((name) => [name, selected(shown[name], actual[name] ?? null)]));
  }
  return JSON.stringify(masked(shown)) === JSON.stringify(masked(actual)) ? shown : actual;
};

/** The format that prettier produces. */
const textOf = (value: Json, indent = ''): string => {
  const inline = JSON.stringify(value, null, 1).replaceAll(
    /(\[|,)?\n *(\])?/g,
    (_, before = '', after = '') => (before === '[' || after === ']' ? `${before}${after}` : `${before} `),
  );
  if (typeof value !== 'object' || value === null || inline.length + indent.length <= 108) return inline;
  const deeper = `${indent}  `;
  return Array.isArray(value)
    ? `[\n${value.map((one: Json) => `${deeper}${textOf(one, deeper)}`).join(',\n')}\n${indent}]`
    : `{\n${Object.entries(value)
        .map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${textOf(one, deeper)}`)
        .join(',\n')}\n${indent}}`;
};

/** The shown answer, and the answer that should be shown. They are equal if only ids and times differ. */
export const comparisonOf = (
  shown: string,
  output: string,
): { readonly shown: Json; readonly actual: Json } => {
  const expected = JSON.parse(shown) as Json;
  return { shown: masked(expected), actual: masked(selected(expected, JSON.parse(output) as Json)) };
};

/** The page with each shown answer replaced by the actual one: the same members with their present values. */
export const withAnswers = (page: string, answers: ReadonlyMap<string, string>): string =>
  page.replaceAll(BLOCK, (block: string, command: string, shown: string | undefined) => {
    const output = answers.get(command);
    if (shown === undefined || output === undefined) return block;
    const answer = textOf(selected(JSON.parse(shown) as Json, JSON.parse(output) as Json));
    return `\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`json\n${answer}\n\`\`\``;
  });
