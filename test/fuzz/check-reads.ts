import { credentialHeaders, type Credential } from './fuzz-case.ts';
import type { ApiDocument, Operation } from './read-operations.ts';
import { textOf } from '../support/read-stream.ts';
import { idsIn } from './known-ids.ts';

/**
 * After an attack, reads every list and every resource in it.
 * @returns the reads that failed
 */
export const checkReads = async (
  baseUrl: string,
  { operations }: ApiDocument,
  credential: Pick<Credential, 'authorization' | 'cookie'>,
): Promise<readonly string[]> => {
  const problems: string[] = [];
  const read = async (operation: Operation, path: string): Promise<string> => {
    const answer = await fetch(baseUrl + path, { headers: credentialHeaders(operation, credential) });
    const text = await textOf(answer);
    if (answer.status !== 200)
      problems.push(`after the attack: GET ${path} answers ${answer.status} ${text.slice(0, 500)}`);
    return text;
  };
  const reads = operations.filter(({ method }) => method === 'GET');
  for (const list of reads.filter(isPlainRead)) {
    const text = await read(list, list.path);
    const detail = reads.find(
      ({ path, pathParameters }) =>
        pathParameters.length === 1 && path.startsWith(`${list.path}/{`) && path.endsWith('}'),
    );
    if (detail === undefined || !list.isEnveloped) continue;
    const name = detail.pathParameters[0]?.name ?? 'id';
    const { data } = JSON.parse(text) as { data: unknown };
    for (const id of idsIn(data, name))
      await read(detail, detail.path.replace(/\{\w+\}/, encodeURIComponent(id)));
  }
  return problems.slice(0, 5);
};

const isPlainRead = ({ pathParameters, queryParameters }: Operation): boolean =>
  pathParameters.length === 0 && queryParameters.every(({ required }) => !required);
