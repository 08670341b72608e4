import type { ClientBase } from 'pg';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { advertiserStream, type Advertiser } from '../domain/advertisers/advertiser.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { copyIn, CopyRows } from '../shared/postgres/copy-in.ts';
import { count, evolveRecorded, loadRows, nothing, updateChanged } from './advertiser-rows.ts';
import { foldStream, type Folded } from './engine/fold-streams.ts';
import { UnprojectableEventError, type BulkFolding } from './engine/projection.ts';

/** An advertiser as it is folded, and what its row was before. */
interface Entry extends Folded<Advertiser> {
  /** Undefined: it has no row yet. */
  readonly before: AdvertiserResource | undefined;
}

/** Rows of one update. */
const UPDATED_AT_ONCE = 5_000;
/** Of every so many new advertisers one is measured: what it takes as JSON. */
const MEASURED = 32;
/** An object takes about so many times the bytes of its JSON. */
const BYTES_OF_JSON = 2.5;

/**
 * Advertisers are folded in memory, and written when the caller says so: those without a row by COPY, whatever the number
 * of their events; those with one, because they were written before, are read when their next event comes and updated.
 */
export const advertisersBulk = (): BulkFolding => {
  let entries = new Map<string, Entry>();
  let measured = 0;
  let bytesEach = 1_000;

  const load = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
    const unknown = new Set<string>();
    const begun = new Set<string>();
    for (const { stream, revision } of events) {
      if (revision === 0) begun.add(stream);
      else if (!entries.has(stream) && !begun.has(stream)) unknown.add(stream);
    }
    if (unknown.size === 0) return;
    for (const [stream, { state, revision }] of await loadRows(client, [...unknown])) {
      entries.set(stream, { state, revision, before: state });
    }
  };

  const measure = (state: Advertiser): void => {
    measured += 1;
    if (measured % MEASURED !== 1) return;
    const bytes = JSON.stringify(state).length * BYTES_OF_JSON;
    bytesEach += (bytes - bytesEach) / Math.min(1_000, 1 + measured / MEASURED);
  };

  return {
    get bytes() {
      return entries.size * bytesEach;
    },
    add: async (client, events) => {
      await load(client, events);
      for (const event of events) {
        const known = entries.get(event.stream);
        const { state, revision } = foldStream<Advertiser>(known ?? nothing, [event], evolveRecorded);
        if (known === undefined) measure(state);
        if (state.status !== 'NONE' && advertiserStream(state.customerId, state.id) !== event.stream) {
          throw new UnprojectableEventError(event, 'the stream is not that of what its events describe');
        }
        entries.set(event.stream, { state, revision, before: known?.before });
      }
    },
    flush: async (client) => {
      const live = [...entries.values()].flatMap(({ state, revision, before }) =>
        state.status === 'NONE' ? [] : [{ after: { state, revision }, before }],
      );
      entries = new Map();
      const created = live.filter(({ before }) => before === undefined).map(({ after }) => after);
      await insertByCopy(client, created);
      await count(
        client,
        created.map(({ state }) => [state, 1] as const),
      );
      const changed = live.filter(({ before }) => before !== undefined);
      for (let from = 0; from < changed.length; from += UPDATED_AT_ONCE) {
        await updateChanged(client, changed.slice(from, from + UPDATED_AT_ONCE));
      }
    },
  };
};

const insertByCopy = async (
  client: ClientBase,
  rows: readonly Folded<AdvertiserResource>[],
): Promise<void> => {
  if (rows.length === 0) return;
  const copied = function* (): Generator<Buffer> {
    const written = new CopyRows();
    for (const { state, revision } of rows) {
      written.row(8);
      written.int8(state.customerId);
      written.int4(state.id);
      written.int8(revision);
      written.text(state.status);
      written.boolean(state.sandbox);
      written.text(state.name);
      written.timestamp(state.createdAt);
      written.text(JSON.stringify(state));
      yield* written.take();
    }
    yield* written.end();
  };
  await copyIn(
    client,
    `copy advertisers (customer_id, id, revision, status, sandbox, name, created_at, body) from stdin (format binary)`,
    copied(),
  );
};
