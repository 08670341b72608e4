import type { ReceivedAnswer } from './check-answer.ts';

/**
 * What is wrong with a 429: under generous limits there is one reason for it, the credentials of an address that did not
 * verify (specification, Authentication, rule 2).
 * @param from the address that the request said it comes from
 * @param refused the one from which so many did not; undefined: there is none
 */
export const refusedProblems = (
  { status, headers, text }: ReceivedAnswer,
  from: string | undefined,
  refused: string | undefined,
): readonly string[] => {
  if (status !== 429) return [];
  const problems: string[] = [];
  // The answer to a HEAD has no body.
  if (text !== '' && !text.includes('"reason":"unverified_credentials"'))
    problems.push('429 for another reason');
  if (headers['ratelimit-limit'] !== '30' || headers['ratelimit-remaining'] !== '0')
    problems.push('429 without where its address stands');
  if (!/^(?:[1-9]|[1-5]\d|60)$/.test(String(headers['retry-after'] ?? '')))
    problems.push('429 without Retry-After of its window');
  // What says something odd of where it comes from may be counted with others that do.
  if (isPlain(from) && from !== refused) problems.push(`429 to ${from}, where nothing failed`);
  return problems;
};

const isPlain = (from: string | undefined): boolean => from !== undefined && /^[0-9a-f.:]{3,45}$/.test(from);
