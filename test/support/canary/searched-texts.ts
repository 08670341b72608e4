import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';

/** Text by its place. */
export type SearchedTexts = Readonly<Record<string, string>>;

/** All rows of all tables outside Postgres's own schemas, as text, by `schema.table`. */
export const tablesOf = async (connectionString: string): Promise<SearchedTexts> => {
  const client = new Client({ connectionString, options: '-c app.access=system' });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string; from: string }>(
    `select schemaname || '.' || tablename as name, format('%I.%I', schemaname, tablename) as "from"
     from pg_tables where schemaname <> 'information_schema' and schemaname not like 'pg\\_%'`,
  );
  const texts: Record<string, string> = {};
  for (const { name, from } of tables) {
    const { rows } = await client.query<{ all: string | null }>(
      `select string_agg(t::text, E'\\n') as all from ${from} t`,
    );
    texts[name] = rows[0]?.all ?? '';
  }
  await client.end();
  return texts;
};

/** All files below a folder, by name. The names are part of the text. */
export const filesOf = async (folder: string): Promise<SearchedTexts> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.map(async (file) => [file, await textOf(file)] as const));
  return Object.fromEntries(texts.map(([file, text]) => [`file ${file}`, `${file}\n${text}`]));
};

/** Empty for a file that is gone meanwhile: a draft becomes an object. */
const textOf = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
};

/** Collects repeated snapshots of places: a secret may appear only for a moment. */
interface TextCollection {
  add(places: SearchedTexts): void;
  readonly places: SearchedTexts;
}

export const collectTexts = (): TextCollection => {
  const all = new Map<string, Set<string>>();
  return {
    add: (places) => {
      for (const [place, text] of Object.entries(places)) {
        all.set(place, (all.get(place) ?? new Set()).add(text));
      }
    },
    get places() {
      return Object.fromEntries([...all].map(([place, texts]) => [place, [...texts].join('\n')]));
    },
  };
};

/** The secret itself, Postgres's notation of its bytes, and usual encodings. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret, 'base64url').toString('hex'),
];

/** @returns each place that contains a secret, with the text around it */
export const foundIn = (places: SearchedTexts, secrets: Iterable<string>): readonly string[] => {
  const looked = [...secrets].map((secret) => [secret, new Set(formsOf(secret))] as const);
  return Object.entries(places).flatMap(([place, text]) =>
    looked.flatMap(([secret, forms]) =>
      [...forms].some((form) => text.includes(form)) ? [`${place}: ${secret.slice(-4)}`] : [],
    ),
  );
};
