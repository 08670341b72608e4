import type { ClientBase } from 'pg';
import { advertiserStream, type Advertiser } from '../domain/advertisers/advertiser.ts';
import {
  addCount,
  addCounts,
  copyRows,
  evolveRecorded,
  loadRows,
  nothing,
  updateChanged,
  writeCounts,
  type CountSums,
  type Row,
} from './advertiser-rows.ts';
import { foldStream, type Folded } from './engine/fold-streams.ts';
import { createKeptEvents, type KeptEvents, type KeptStream } from './engine/kept-events.ts';
import { UnprojectableEventError, type BulkFolding, type ProjectedEvent } from './engine/projection.ts';

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
      const folded = kept;
      kept = createKeptEvents();
      await insertByCopy(client, folded);
      await updateInSteps(client, folded);
    },
  };
};

const isBegun = ({ revision }: KeptStream): boolean => revision === 0;

/** @throws UnprojectableEventError */
const fold = (before: Folded<Advertiser>, kept: KeptEvents, of: KeptStream): Row | undefined => {
  const events = kept.eventsOf(of);
  const { state, revision } = foldStream<Advertiser, ProjectedEvent>(before, events, evolveRecorded);
  if (state.status === 'NONE') return undefined;
  if (advertiserStream(state.customerId, state.id) !== of.stream) {
    const [first] = kept.eventsOf(of);
    throw new UnprojectableEventError(
      first as ProjectedEvent,
      'the stream is not that of what its events describe',
    );
  }
  return { state, revision };
};

const insertByCopy = async (client: ClientBase, kept: KeptEvents): Promise<void> => {
  const counts: CountSums = new Map();
  const folded = function* (): Generator<Row> {
    for (const stream of kept.streams.values()) {
      const row = isBegun(stream) ? fold(nothing, kept, stream) : undefined;
      if (row === undefined) continue;
      addCount(counts, row.state, 1);
      yield row;
    }
  };
  await copyRows(client, folded(), await isEmptied(client));
  await writeCounts(client, counts);
};

/** A table that is emptied in this transaction takes rows as if they had always been there: no vacuum writes them again. */
const isEmptied = async (client: ClientBase): Promise<boolean> => {
  const { rowCount } = await client.query('select from advertisers limit 1');
  if (rowCount === 0) await client.query('truncate advertisers');
  return rowCount === 0;
};

const updateInSteps = async (client: ClientBase, kept: KeptEvents): Promise<void> => {
  let step: KeptStream[] = [];
  const update = async (): Promise<void> => {
    const rows = await loadRows(
      client,
      step.map(({ stream }) => stream),
    );
    const changed = step.flatMap((one) => {
      const before = rows.get(one.stream);
      const after = fold(before ?? nothing, kept, one);
      return after === undefined ? [] : [{ before: before?.state, after }];
    });
    await updateChanged(client, changed, addCounts);
    step = [];
  };
  for (const stream of kept.streams.values()) {
    if (isBegun(stream)) continue;
    step.push(stream);
    if (step.length === UPDATED_AT_ONCE) await update();
  }
  if (step.length > 0) await update();
};
