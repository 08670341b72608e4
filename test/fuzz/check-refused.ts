import type { ReceivedAnswer } from './check-answer.ts';

/**
 * The problems of a 429. With generous limits only one cause is correct: too many invalid credentials from one address
 * (specification, Authentication, rule 2).
 * @param from the address in the request
 * @param refused the address with too many invalid credentials, if there is one
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
    problems.push('429 with wrong RateLimit headers');
  if (!/^(?:[1-9]|[1-5]\d|60)$/.test(String(headers['retry-after'] ?? '')))
    problems.push('429 with a Retry-After outside its window');
  // Malformed addresses may share one counter.
  if (isPlain(from) && from !== refused) problems.push(`429 to ${from}, which sent no invalid credentials`);
  return problems;
};

const isPlain = (from: string | undefined): boolean => from !== undefined && /^[0-9a-f.:]{3,45}$/.test(from);
