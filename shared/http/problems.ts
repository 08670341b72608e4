import type { z } from 'zod';

/** The schema library's own messages never reach a client or an operator. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

export type CheckResult<Value> =
  | { readonly value: Value; readonly problems?: never }
  | { readonly problems: readonly [Problem, ...Problem[]] };

export const check = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): CheckResult<z.output<Schema>> => {
  const result = schema.safeParse(value, { error: inWords });
  if (result.success) return { value: result.data };
  const [first = UNKNOWN, ...more] = withTightestLimits(
    result.error.issues.flatMap(withoutUnions).flatMap(ofEachKey),
  ).map(problemOf);
  return { problems: [first, ...more] };
};

export const sentenceOf = ({ path, message }: Problem, whole: string): string =>
  `${path === '' ? whole : path} ${message}`;

type Issue = z.core.$ZodIssue;

const UNKNOWN: Problem = { path: '', message: 'is not valid', code: 'custom' };

/** The path of an unknown member is the member's own. */
const ofEachKey = (issue: Issue): readonly Issue[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ ...issue, path: [...issue.path, key] }))
    : [issue];

const problemOf = ({ path, message, code }: Issue): Problem => ({
  path: path.map(String).join('.'),
  message,
  code,
});

const inWords: z.core.$ZodErrorMap = (issue) =>
  issue.input === undefined && issue.code !== 'custom' ? REQUIRED : wordsOf(issue);

const REQUIRED = 'is required';
const NO_FORM = 'has none of the forms that it may have';

const wordsOf = (issue: z.core.$ZodRawIssue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${types[issue.expected] ?? 'of another type'}${issue.input === null ? NOT_NULL : ''}`;
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be ${oneOf(issue.options as readonly z.core.util.Primitive[])}`
        : NO_FORM;
    case 'too_small':
      return limitOf('least', issue.minimum, issue);
    case 'too_big':
      return limitOf('most', issue.maximum, issue);
    case 'invalid_format':
      return formats[issue.format] ?? `must match the pattern ${String(issue.pattern)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'is not known here';
    case 'invalid_key':
      return `has a name that ${issue.issues[0]?.message ?? UNKNOWN.message}`;
    case 'invalid_element':
      return `holds a value that ${issue.issues[0]?.message ?? UNKNOWN.message}`;
    case 'custom':
    default:
      return UNKNOWN.message;
  }
};

const types: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  datetime: 'must be a time of RFC 3339, e.g. 2026-01-31T12:00:00Z',
  date: 'must be a day, e.g. 2026-01-31',
  email: 'must be an e-mail address',
  url: 'must be a URL',
  uuid: 'must be a UUID',
};

const listed = (values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'bigint' ? String(value) : JSON.stringify(value))).join(', ');

const oneOf = (values: readonly z.core.util.Primitive[]): string =>
  values.length === 1 ? listed(values) : `one of ${listed(values)}`;

interface Limit {
  readonly origin: string;
  readonly inclusive?: boolean | undefined;
  readonly exact?: boolean | undefined;
}

const counted: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['member', 'members'],
};

const limitOf = (
  side: 'least' | 'most',
  limit: number | bigint,
  { origin, inclusive, exact }: Limit,
): string => {
  const units = counted[origin];
  if (units === undefined) {
    if (inclusive !== false) return `must be at ${side} ${limit}`;
    return `must be ${side === 'least' ? 'more' : 'less'} than ${limit}`;
  }
  if (side === 'least' && Number(limit) === 1 && exact !== true) return 'must not be empty';
  const amount = `${limit} ${Number(limit) === 1 ? units[0] : units[1]}`;
  return `must have ${exact === true ? 'exactly' : `at ${side}`} ${amount}`;
};

/** A wrong literal weighs more than any number of wrong members. */
const withoutUnions = (issue: Issue): readonly Issue[] => {
  if (issue.code !== 'invalid_union' || issue.message !== NO_FORM) return [issue];
  const forms = issue.errors.map((issues) => issues.flatMap(withoutUnions));
  const ofType = forms.filter(
    (issues) => !issues.some(({ path, code }) => path.length === 0 && isKind(code)),
  );
  if (ofType.length === 0) return [mergedOf(issue, forms)];
  const [closest = []] = ofType.toSorted((a, b) => distance(a) - distance(b));
  return closest.map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
};

const isKind = (code: string | undefined): boolean => code === 'invalid_type' || code === 'invalid_value';

const LITERAL = 1_000;
const distance = (issues: readonly Issue[]): number =>
  issues.reduce((sum, { code }) => sum + (code === 'invalid_value' ? LITERAL : 1), 0);

const mergedOf = (issue: Issue, forms: readonly (readonly Issue[])[]): Issue => {
  const messages = [...new Set(forms.map(([first]) => first?.message ?? UNKNOWN.message))];
  const allowed = messages.map((message) => MUST_BE.exec(message)?.groups?.['what']);
  const isNull = messages.some((message) => message.endsWith(NOT_NULL));
  const message = allowed.includes(undefined)
    ? (messages[0] ?? UNKNOWN.message)
    : `must be ${allowed.join(' or ')}${isNull ? NOT_NULL : ''}`;
  return { ...issue, message };
};

const NOT_NULL = ', not null';
const MUST_BE = /^must be (?<what>.*?)(?:, not null)?$/s;

/** An integer can break its schema's limit and that of safe integers. Linear: a body may have many issues. */
const withTightestLimits = (issues: readonly Issue[]): readonly Issue[] => {
  const tightest = new Map<string, number | bigint>();
  for (const issue of issues) {
    const [limit, key] = limitIn(issue);
    const known = limit === undefined ? undefined : tightest.get(key);
    if (limit === undefined || (known !== undefined && !isTighter(issue, limit, known))) continue;
    tightest.set(key, limit);
  }
  return issues.filter((issue) => {
    const [limit, key] = limitIn(issue);
    return limit === undefined || tightest.get(key) === limit;
  });
};

const limitIn = (issue: Issue): readonly [limit: number | bigint | undefined, key: string] => {
  const key = `${issue.code} ${issue.path.join('\0')}`;
  if (issue.code === 'too_big') return [issue.maximum, key];
  return [issue.code === 'too_small' ? issue.minimum : undefined, key];
};

const isTighter = ({ code }: Issue, limit: number | bigint, other: number | bigint): boolean =>
  code === 'too_big' ? limit < other : limit > other;
