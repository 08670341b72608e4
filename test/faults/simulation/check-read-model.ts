import { advertiserEvents, type AdvertiserEvent } from '../../../domain/advertisers/events.ts';
import { evolve, initialState, type Advertiser } from '../../../domain/advertisers/advertiser.ts';
import { toDomainEvent } from '../../../shared/aggregate/recorded-domain-event.ts';
import type { RecordedEvent } from '../../../shared/event-store/event-store.ts';
import type { Tables } from './database.ts';
import { CUSTOMER_ID } from './request.ts';

const PROJECTION = 'advertisers';

const rowOf = (tables: Tables, stream: string) =>
  tables.advertisers.get(stream.replace('advertiser-', '').replace('-', ' '));

/** The state after each event, keyed by event id. */
export const foldAll = (events: readonly RecordedEvent[]): ReadonlyMap<string, Advertiser> => {
  const current = new Map<string, Advertiser>();
  const states = new Map<string, Advertiser>();
  for (const event of events) {
    const state = evolve(
      current.get(event.stream) ?? initialState,
      toDomainEvent(event, advertiserEvents) as AdvertiserEvent,
    );
    current.set(event.stream, state);
    states.set(event.id, state);
  }
  return states;
};

/** Always true: the checkpoint has passed only events that are in the rows or belong to parked streams. */
export const checkpointProblems = (tables: Tables, events: readonly RecordedEvent[]): readonly string[] => {
  const position = tables.checkpoints.get(PROJECTION)?.['position'];
  if (typeof position !== 'string') return [];
  return events.flatMap((event) => {
    if (event.position > position) return [];
    if (tables.parked.get(`${PROJECTION} ${event.stream}`) !== undefined) return [];
    const revision = Number(rowOf(tables, event.stream)?.['revision'] ?? -1);
    if (revision >= event.revision) return [];
    return [
      `checkpoint ${position} has passed ${event.stream}@${event.revision}, and its row is at ${revision}`,
    ];
  });
};

/** True at the end: every row equals its folded stream, and every count that of the rows. */
export const readModelProblems = (tables: Tables, events: readonly RecordedEvent[]): readonly string[] => {
  const problems: string[] = [];
  const position = tables.checkpoints.get(PROJECTION)?.['position'];
  if (position !== events.at(-1)?.position) problems.push(`the checkpoint stays at ${String(position)}`);
  for (const [, { stream }] of tables.parked.rows()) problems.push(`${String(stream)} stays parked`);

  const states = foldAll(events);
  const last = new Map(events.map((event) => [event.stream, event]));
  const counts = new Map<string, number>();
  for (const [stream, event] of last) {
    const state = states.get(event.id) ?? initialState;
    const row = rowOf(tables, stream);
    if (row?.['body'] !== JSON.stringify(state) || row['revision'] !== event.revision) {
      problems.push(`the row of ${stream} differs from its folded stream: ${String(row?.['body'])}`);
    }
    const key = `${CUSTOMER_ID}/${state.status}/false`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = tables.advertisers.rows().length;
  if (rows !== last.size) problems.push(`${rows} rows of ${last.size} streams`);
  for (const [key, { count }] of tables.counts.rows()) {
    if (count !== (counts.get(key) ?? 0))
      problems.push(`${key} counts ${String(count)} of ${counts.get(key) ?? 0}`);
  }
  return problems;
};
