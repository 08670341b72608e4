import { z } from 'zod';
import { catalogContentEvents, type CatalogItem } from '../../domain/catalogs/events.ts';
import { catalogContentStream } from '../../domain/catalogs/catalog.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { toDomainEvent, toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import { appendInChunks } from '../../shared/event-store/append-in-chunks.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';

/** Per event, in characters of JSON of at most 3 bytes each: far below the limit of every event store. */
const PART_JSON_MAX = 128 * 1024;

interface Content {
  readonly customerId: number;
  readonly catalogId: string;
  readonly contentHash: string;
}

/** Stores items before another event refers to them. Event ids are derived from the hash, so repeats store once. */
export const storeCatalogItems = async (
  store: EventStore,
  content: Content,
  items: readonly CatalogItem[],
  { now, ...context }: Omit<CommandContext, 'commandId' | 'customerId'> & { readonly now: string },
): Promise<void> => {
  const { customerId, catalogId, contentHash } = content;
  const parts = partsOf(items).map((part, n) => ({
    type: 'CatalogItemsStored',
    data: { contentHash, part: n, items: part },
    occurredAt: now,
  }));
  const commandId = derivedId(catalogId, contentHash);
  const events = toNewEvents(parts, { ...context, customerId, commandId }, catalogContentEvents);
  await appendInChunks(store, catalogContentStream(customerId, catalogId, contentHash), events, 'no-stream');
};

const partsOf = (items: readonly CatalogItem[]): readonly (readonly CatalogItem[])[] => {
  const parts: CatalogItem[][] = [];
  let size = Infinity;
  for (const item of items) {
    const itemSize = JSON.stringify(item).length;
    if (size + itemSize > PART_JSON_MAX) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(item);
    size += itemSize;
  }
  return parts;
};

const Stored = z.object({ items: z.array(z.record(z.string(), z.json())) });

/** Yields the items in order, part by part, so memory does not grow with the catalog. */
export const readCatalogItems = async function* (
  store: Pick<EventStore, 'readStream'>,
  { customerId, catalogId, contentHash }: Content,
): AsyncGenerator<readonly CatalogItem[]> {
  const stream = catalogContentStream(customerId, catalogId, contentHash);
  for await (const event of store.readStream(stream)) {
    yield Stored.parse(toDomainEvent(event, catalogContentEvents).data).items;
  }
};
