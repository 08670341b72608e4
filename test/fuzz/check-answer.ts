import { errorCodes } from '../../shared/http/errors.ts';
import type { Operation } from './read-operations.ts';

/** Rules for every answer, in addition to the declarations that the service checks itself (`service-main.ts`). */
export interface AnswerRules {
  /**
   * @param request the request. Its path is undefined if the service may have read another one.
   * @returns the problems; empty for a correct answer
   */
  problemsOf(
    request: { readonly method: string; readonly path: string | undefined },
    answer: ReceivedAnswer,
  ): readonly string[];
}

export interface ReceivedAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** Errors that no operation declares itself (`Refused` in the document), and those of Node's HTTP parser. */
const refusals = new Set([
  ...Object.values(errorCodes).flatMap(({ status }) => (status < 500 ? [status] : [])),
  408,
  431,
]);

/** Parser errors that the envelope reports as `BAD_REQUEST`. */
const parserStatuses = new Set([408, 431]);

const leaks: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\bat (?:\S+ \()?[^\s()]+:\d+:\d+/],
  [
    'a file of the program',
    /(?:node_modules|node:internal|file:\/\/|\/(?:app|cli|command|domain|projections|query|shared|dist)\/\S+\.[jt]s)/,
  ],
  [
    'SQL',
    /\b(?:select|insert|update|delete)\s[\s\S]*\b(?:from|into|set)\b|syntax error at|violates \w+ constraint|relation "/i,
  ],
  ['a system error', /\b(?:ECONN[A-Z]+|ENOENT|EPIPE|PostgresError|TypeError|RangeError)\b/],
];

/** @param secrets must not appear in any answer */
export const createAnswerRules = (
  operations: readonly Operation[],
  secrets: readonly string[],
): AnswerRules => {
  const successes = new Set(operations.flatMap(({ statuses }) => statuses.filter((status) => status < 400)));
  const plain = operations
    .filter(({ isEnveloped }) => !isEnveloped)
    .map(({ path, statuses, isWithAllBelow }) => ({
      statuses,
      form: new RegExp(
        `^${path.replaceAll('.', '[.]').replaceAll(/\{\w+\}/g, '[^/]+')}${isWithAllBelow ? '(?:/.*)?' : ''}$`,
      ),
    }));
  /** True for an answer of one of the few operations without the envelope. */
  const isDeclaredPlain = (path: string | undefined, { status, text }: ReceivedAnswer): boolean => {
    const [asked = ''] = path?.split(/[?#]/) ?? [];
    const candidates = path === undefined ? plain : plain.filter(({ form }) => form.test(asked));
    const isLikely = path !== undefined || !text.startsWith('{"data":');
    return isLikely && candidates.some(({ statuses }) => statuses.includes(status));
  };

  return {
    problemsOf: ({ method, path }, answer) => {
      const { status, headers, text } = answer;
      const problems: string[] = [];
      const isPlain = isDeclaredPlain(path, answer);
      if (
        !successes.has(status) &&
        !(method === 'OPTIONS' && status === 204) &&
        !refusals.has(status) &&
        !isPlain
      ) {
        if (status === 501 && text.includes('"NOT_IMPLEMENTED"')) {
          // The specification lists these operations; this version does not implement them.
        } else if (status !== 503) problems.push(`status ${status}`);
        else if (!/^\d+$/.test(String(headers['retry-after'] ?? '')))
          problems.push('503 without Retry-After');
      }
      if (status === 405 && headers['allow'] === undefined) problems.push('405 without Allow');
      if (!/^[A-Za-z0-9._-]{1,128}$/.test(String(headers['x-request-id'] ?? '')))
        problems.push('no X-Request-Id');
      if (secrets.some((secret) => text.includes(secret))) problems.push('a credential in the answer');
      if (text !== '' && method !== 'HEAD' && !isPlain)
        problems.push(...envelopeProblems(status, headers, text));
      if (status >= 400) {
        for (const [what, pattern] of leaks) if (pattern.test(text)) problems.push(`${what} in a refusal`);
      }
      if (text === '' && method !== 'HEAD' && status !== 204 && status !== 304)
        problems.push(`${status} without a body`);
      return problems;
    },
  };
};

const envelopeProblems = (
  status: number,
  headers: ReceivedAnswer['headers'],
  text: string,
): readonly string[] => {
  if (headers['content-type'] !== 'application/json; charset=utf-8') {
    return [`content type ${String(headers['content-type'])}`];
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ['a body that is not JSON'];
  }
  if (typeof value !== 'object' || value === null) return ['no envelope'];
  const envelope = value as Readonly<Record<string, unknown>>;
  const members = Object.keys(envelope).join();
  if (status < 400) {
    const isWhole = (members === 'data,error' || members === 'data,error,meta') && envelope['error'] === null;
    return isWhole ? [] : [`a success in another envelope: ${members}`];
  }
  if (members !== 'data,error' || envelope['data'] !== null)
    return [`a refusal in another envelope: ${members}`];
  return errorProblems(status, envelope['error']);
};

const errorProblems = (status: number, error: unknown): readonly string[] => {
  if (typeof error !== 'object' || error === null) return ['a refusal without an error'];
  const { code, message, field, details, ...rest } = error as Readonly<Record<string, unknown>>;
  const problems: string[] = [];
  const expected = Object.entries(errorCodes).find(([name]) => name === code)?.[1].status;
  const isOfParser = parserStatuses.has(status) && code === 'BAD_REQUEST';
  if (expected !== status && !isOfParser) problems.push(`code ${String(code)} with status ${status}`);
  if (typeof message !== 'string' || message === '') problems.push('an error without a message');
  if (field !== undefined && (typeof field !== 'string' || field === ''))
    problems.push('an error field that is not text');
  if (details === null) problems.push('error details of null');
  if (Object.keys(rest).length > 0) problems.push(`error members ${Object.keys(rest).join()}`);
  return problems;
};
