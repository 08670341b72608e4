import { categoryOf } from '../event-store.ts';
import type { LogPage } from '../follow-log.ts';
import type { LogReader } from './read-log.ts';

type ReadPage = LogReader['readPage'];

interface Waiting {
  readonly limit: number;
  readonly categories: readonly string[] | undefined;
  readonly resolve: (page: LogPage) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Subscriptions that stand at the same place when the log goes on read it once, together: an event costs one question,
 * not one for each subscription. Whoever is alone somewhere reads what is its own only.
 */
export const readTogether = (reader: Pick<LogReader, 'readPage'>): ReadPage => {
  const waiting = new Map<number, Waiting[]>();

  const readFor = async (after: number, readers: readonly Waiting[]): Promise<void> => {
    try {
      const [first, ...others] = readers;
      if (first !== undefined && others.length === 0) {
        first.resolve(await reader.readPage(after, first.limit, first.categories));
        return;
      }
      const page = await reader.readPage(after, Math.min(...readers.map(({ limit }) => limit)));
      for (const { categories, resolve } of readers) {
        const isAsked = ({ stream }: { readonly stream: string }): boolean =>
          categories?.includes(categoryOf(stream)) ?? true;
        resolve({ ...page, events: page.events.filter(isAsked) });
      }
    } catch (error) {
      for (const { reject } of readers) reject(error);
    }
  };

  return (after, limit, categories) =>
    new Promise((resolve, reject) => {
      const one = { limit, categories, resolve, reject };
      const others = waiting.get(after);
      if (others !== undefined) {
        others.push(one);
        return;
      }
      const readers = [one];
      waiting.set(after, readers);
      // Whatever the same turn of the event loop wakes goes along; a question never joins one that has been sent.
      setImmediate(() => {
        waiting.delete(after);
        void readFor(after, readers);
      });
    });
};
