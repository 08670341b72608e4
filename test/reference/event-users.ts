import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allProjections } from '../../projections/all-projections.ts';
import type { Projection } from '../../projections/engine/projection.ts';
import { packageDirectory } from '../../app/version.ts';

/** Which code writes and reads an event, found in the registries and the source. */

interface SourceFile {
  /** Relative to the project folder. */
  readonly path: string;
  readonly text: string;
}

/** Source files of the folders that decide or append events, sorted by path. */
const readSources = (): readonly SourceFile[] =>
  ['domain', 'command', 'cli'].flatMap((folder) =>
    (readdirSync(join(packageDirectory, folder), { recursive: true }) as string[])
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .map((file) => ({
        path: `${folder}/${file.replaceAll('\\', '/')}`,
        text: readFileSync(join(packageDirectory, folder, file), 'utf8'),
      })),
  );

const DECIDER = /export const (\w+Aggregate)\b/;

export interface EventUsers {
  /** Files that decide the event. */
  readonly deciders: readonly string[];
  /** Files that run the decider: commands and workers. */
  readonly commands: readonly string[];
  /** Read models of its category, and their tables. */
  readonly projections: readonly Pick<Projection, 'name' | 'tables' | 'work'>[];
}

export const createEventUsers = (): ((type: string, category: string) => EventUsers) => {
  const sources = readSources();
  return (type, category) => {
    // Matches values, not types: events are object literals.
    const made = new RegExp(`(?<!readonly )\\btype: '${type}',`);
    const makers = sources.filter(({ text }) => made.test(text));
    const named = sources.filter(({ text }) => text.includes(`'${type}'`) && DECIDER.test(text));
    const deciders = makers.length > 0 ? makers : named;
    const names = deciders.flatMap(({ text }) => [...text.matchAll(new RegExp(DECIDER, 'g'))]);
    const commands = sources.filter(({ path, text }) =>
      names.some(([, name]) => !path.startsWith('domain/') && new RegExp(`\\b${name}\\b`).test(text)),
    );
    return {
      deciders: deciders.map(({ path }) => path),
      commands: commands.map(({ path }) => path),
      projections: allProjections.filter(({ categories }) => categories.includes(category)),
    };
  };
};
