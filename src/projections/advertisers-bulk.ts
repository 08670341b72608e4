import type { ClientBase } from 'pg';
import { advertiserStream, type Advertiser } from '../domain/advertisers/advertiser.ts';
import { copyIn, CopyRows } from '../shared/postgres/copy-in.ts';
import {
  addCount,
  addCounts,
  evolveRecorded,
  loadRows,
  nothing,
  updateChanged,
  writeCounts,
  type CountSums,
  type Row,
} from './advertiser-rows.ts';
import { foldStream, type Folded } from './engine/fold-streams.ts';
import { createKeptEvents, type KeptEvent, type KeptStream } from './engine/kept-events.ts';
import { UnprojectableEventError, type BulkFolding } from './engine/projection.ts';

/** Rows of one update. */
const UPDATED_AT_ONCE = 5_000;

/**
 * Advertisers' events are kept until the caller says so, and then folded stream by stream: those without a row are written
 * by COPY, whatever the number of their events; those with one, because they were written before, are read and updated.
 * No more than one chunk of what is folded is in memory. Blocks are not counted: they are made of the rows at the end.
 */
export const advertisersBulk = (): BulkFolding => {
  let kept = createKeptEvents();
  return {
    get bytes() {
      return kept.bytes;
    },
    add: (events) => kept.add(events),
    flush: async (client) => {
      const { streams } = kept;
      kept = createKeptEvents();
      await insertByCopy(client, streams.values());
      await updateInSteps(client, streams.values());
    },
  };
};

const isBegun = ({ first }: KeptStream): boolean => first.revision === 0;

/** @throws UnprojectableEventError */
const fold = (before: Folded<Advertiser>, { stream, first }: KeptStream): Row | undefined => {
  const { state, revision } = foldStream<Advertiser, KeptEvent>(before, eventsFrom(first), evolveRecorded);
  if (state.status === 'NONE') return undefined;
  if (advertiserStream(state.customerId, state.id) !== stream) {
    throw new UnprojectableEventError(first, 'the stream is not that of what its events describe');
  }
  return { state, revision };
};

function* eventsFrom(first: KeptEvent): Generator<KeptEvent> {
  for (let event: KeptEvent | undefined = first; event !== undefined; event = event.next) yield event;
}

const insertByCopy = async (client: ClientBase, streams: Iterable<KeptStream>): Promise<void> => {
  const counts: CountSums = new Map();
  const copied = function* (): Generator<Buffer> {
    const written = new CopyRows();
    for (const stream of streams) {
      const row = isBegun(stream) ? fold(nothing, stream) : undefined;
      if (row === undefined) continue;
      const { state, revision } = row;
      addCount(counts, state, 1);
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
  const freeze = (await isEmptied(client)) ? ', freeze' : '';
  await copyIn(
    client,
    `copy advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     from stdin (format binary${freeze})`,
    copied(),
  );
  await writeCounts(client, counts);
};

/** A table that is emptied in this transaction takes rows as if they had always been there: no vacuum writes them again. */
const isEmptied = async (client: ClientBase): Promise<boolean> => {
  const { rowCount } = await client.query('select from advertisers limit 1');
  if (rowCount === 0) await client.query('truncate advertisers');
  return rowCount === 0;
};

const updateInSteps = async (client: ClientBase, streams: Iterable<KeptStream>): Promise<void> => {
  let step: KeptStream[] = [];
  const update = async (): Promise<void> => {
    const rows = await loadRows(
      client,
      step.map(({ stream }) => stream),
    );
    const changed = step.flatMap((one) => {
      const before = rows.get(one.stream);
      const after = fold(before ?? nothing, one);
      return after === undefined ? [] : [{ before: before?.state, after }];
    });
    await updateChanged(client, changed, addCounts);
    step = [];
  };
  for (const stream of streams) {
    if (isBegun(stream)) continue;
    step.push(stream);
    if (step.length === UPDATED_AT_ONCE) await update();
  }
  if (step.length > 0) await update();
};
