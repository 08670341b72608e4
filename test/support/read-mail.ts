import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface ReadMail {
  /** By lower-case name, decoded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Reads what the service writes: one part of text. */
export const readMail = (source: Buffer | string): ReadMail => {
  const raw = source.toString();
  const at = raw.indexOf('\r\n\r\n');
  if (at < 0) throw new Error('a mail without a body');
  const lines = raw
    .slice(0, at)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(': ');
      if (colon < 0) throw new Error(`not a header: ${line}`);
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 2))];
    }),
  );
  if (Object.keys(headers).length !== lines.length) throw new Error('a header appears twice');
  const text = decodeBody(raw.slice(at + 4), headers['content-transfer-encoding'] ?? '7bit');
  return { headers, text: text.replaceAll('\r\n', '\n').trimEnd() };
};

/** The mails in the outbox of a service by their ids, oldest first. */
export const readOutbox = async (dataDir: string): Promise<ReadonlyMap<string, ReadMail>> => {
  const folder = join(dataDir, 'outbox');
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const files = names.filter((name) => name.endsWith('.eml'));
  const mails = await Promise.all(
    files.map(async (name) => {
      const path = join(folder, name);
      const { mtimeMs } = await stat(path);
      return { id: name.slice(0, -4), mtimeMs, mail: readMail(await readFile(path)) };
    }),
  );
  return new Map(mails.toSorted((a, b) => a.mtimeMs - b.mtimeMs).map(({ id, mail }) => [id, mail]));
};

const decodeBody = (body: string, encoding: string): string => {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding === 'quoted-printable') return quotedText(body.replaceAll('=\r\n', ''));
  if (encoding === '7bit') return body;
  throw new Error(`unexpected encoding ${encoding}`);
};

const quotedText = (text: string): string =>
  Buffer.from(
    text.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString();

/** RFC 2047. Spaces between two encoded words do not count. */
const decodeWords = (value: string): string =>
  value
    .replaceAll(/\?= +=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString()
        : quotedText(word.replaceAll('_', ' ')),
    );
