import type { IncomingMessage } from 'node:http';

/**
 * Every value of a header, as sent. Node's `headers` keeps only the first `Host` and `Authorization`, where a
 * second one is an attack, and its `headersDistinct` copies all headers for one question.
 * @param name in lower case
 */
export const headerValues = ({ rawHeaders }: IncomingMessage, name: string): readonly string[] => {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
};
