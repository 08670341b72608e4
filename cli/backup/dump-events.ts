import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Installation } from '../../app/installation.ts';
import {
  comparePositions,
  START,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import type { OnProgress } from '../command.ts';
import { fractionOf } from '../event-move/copy-events.ts';
import { persist } from '../event-move/persist.ts';
import { eventsPath, type Manifest } from './manifest.ts';

const PAGE_EVENTS = 1_000;

export interface EventDump {
  /** @param to default: the end of the log */
  readOn(to?: Position): Promise<void>;
  finish(): Promise<Manifest['events']>;
  close(): Promise<void>;
}

/** In Postgres the events are a table; the log is then read for the assets alone. */
export const openEventDump = async (
  { sealedStore: store, storeKind }: Installation,
  folder: string,
  take: (event: RecordedEvent) => void,
  onProgress: OnProgress,
): Promise<EventDump> => {
  const file = storeKind === 'postgres' ? undefined : await open(eventsPath(folder), 'wx', 0o600);
  const hash = createHash('sha256');
  let after: Position = START;
  let count = 0;
  return {
    readOn: async (to) => {
      const end = to ?? (await persist(() => store.head()));
      for (;;) {
        const page = await persist(() => store.readAll({ after, limit: PAGE_EVENTS }));
        const events = page.filter(({ position }) => to === undefined || comparePositions(position, to) <= 0);
        const last = events.at(-1);
        if (last === undefined) return;
        events.forEach(take);
        if (file !== undefined) {
          const text = events.map((event) => `${JSON.stringify(event)}\n`).join('');
          hash.update(text);
          await file.appendFile(text);
        }
        count += events.length;
        after = last.position;
        onProgress({ events: count, fraction: fractionOf(store, after, end) });
      }
    },
    finish: async () => {
      await file?.sync();
      return { count, ...(file !== undefined && { sha256: hash.digest('hex') }) };
    },
    close: async () => file?.close(),
  };
};
