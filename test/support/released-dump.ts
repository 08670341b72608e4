import { apiOf, untilDefinite } from './api-client.ts';
import { folderOf } from './releases.ts';
import { until } from './until.ts';

/** What `test/released/<version>/` has of the stores of a release: a backup, and what the API answered then. */

export const backupOf = (version: string): string => `${folderOf(version)}/backup`;

export interface ReleasedAnswers {
  readonly customerId: number;
  /** Every id in the answer to a GET, by path. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
}

/** Lists whose first page changes with each request, streams, and documents that are not JSON. */
const CHANGING = /\/(?:audit-logs|events|deliveries|requests|history|realtime|openapi|llms|skill)\b/;

const idsIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    /^id$|Id$/.test(name) && (typeof member === 'string' || typeof member === 'number')
      ? [String(member)]
      : idsIn(member),
  );
};

/** False: an answer may differ from the one before although nothing was written. */
export const isStable = (path: string): boolean => !CHANGING.test(path);

/** Calls each path with the key. @returns the data of the answers with status 200, by path */
export const readAnswers = async (
  baseUrl: string,
  apiKey: string,
  paths: readonly string[],
): Promise<Readonly<Record<string, unknown>>> => {
  const api = apiOf(baseUrl, { Authorization: `Bearer ${apiKey}` });
  await until(async () => (await api.get('/advertisers')).status === 200);
  const found: Record<string, unknown> = {};
  for (const path of paths) {
    const { status, body } = await untilDefinite(() => api.get(path));
    if (status === 200) found[path] = body.data;
  }
  return found;
};

/** @returns the ids in the answers with status 200 */
export const readIds = async (...given: Parameters<typeof readAnswers>): Promise<ReleasedAnswers['ids']> => {
  const [baseUrl, apiKey, paths] = given;
  const answers = Object.entries(await readAnswers(baseUrl, apiKey, paths.filter(isStable)));
  return Object.fromEntries(
    answers.map(([path, data]) => [path, [...new Set(idsIn(data))].toSorted((a, b) => (a < b ? -1 : 1))]),
  );
};
