import type { ClientBase } from 'pg';
import { int4Array, int8Array, textArray, uuidArray } from '../../postgres/binary-array.ts';
import type { AppendRequest, EncodedEvent } from '../append-request.ts';
import { printPosition } from '../dense-position.ts';
import { WrongExpectedRevisionError, type AppendResult, type ExpectedRevision } from '../event-store.ts';

export type AppendAnswer = AppendResult | WrongExpectedRevisionError;

const expectedCode = (expected: ExpectedRevision): number =>
  expected === 'any' ? -2 : expected === 'no-stream' ? -1 : expected;

type Row = [outcome: 'a' | 'r' | 'c', revision: string, position: string | null];

/** @param batch at most one append for each stream @returns answers in order */
export const appendBatch = async (
  client: ClientBase,
  batch: readonly AppendRequest[],
): Promise<readonly AppendAnswer[]> => {
  const [append] = batch;
  if (append !== undefined && batch.length === 1 && append.events.length === 1 && append.expected !== 'any') {
    const answer = await appendEvent(client, append);
    if (answer !== undefined) return [answer];
  }
  return await appendMany(client, batch);
};

/** A faster path. Undefined if only `append_to_log` can answer. */
const appendEvent = async (
  client: ClientBase,
  { stream, expected, customerId, events, hasOwnPositions = false }: AppendRequest,
): Promise<AppendResult | undefined> => {
  const [event] = events as readonly [EncodedEvent];
  const revision = expectedCode(expected);
  const { rows } = await client.query<[position: string | null]>({
    name: 'append_event_to_log',
    text: 'select append_event_to_log($1, $2, $3, $4, $5, $6, $7, $8)',
    values: [stream, revision, customerId, event.id, event.type, event.data, event.metadata, hasOwnPositions],
    rowMode: 'array',
  });
  const position = rows[0]?.[0] ?? null;
  if (position === null) return undefined;
  return { revision: revision + 1, position: printPosition(Number(position)), repeated: false };
};

const appendMany = async (
  client: ClientBase,
  batch: readonly AppendRequest[],
): Promise<readonly AppendAnswer[]> => {
  const { rows } = await client.query<Row>({
    name: 'append_to_log',
    text: 'select * from append_to_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    values: encodeBatch(batch),
    rowMode: 'array',
  });
  if (rows.length !== batch.length) throw new Error(`${batch.length} appends, but ${rows.length} answers`);
  return rows.map((row, index) => answerOf(batch[index] as AppendRequest, row));
};

const answerOf = (append: AppendRequest, [outcome, revisionText, position]: Row): AppendAnswer => {
  const revision = Number(revisionText);
  if (outcome === 'c') {
    const actual = revision < 0 ? 'no-stream' : revision;
    return new WrongExpectedRevisionError(append.stream, append.expected, actual);
  }
  return { revision, position: printPosition(Number(position)), repeated: outcome === 'r' };
};

const encodeBatch = (batch: readonly AppendRequest[]): (Buffer | boolean[])[] => {
  const firsts: number[] = [];
  const appends: number[] = [];
  batch.forEach((append, index) => {
    firsts.push(appends.length + 1);
    for (let event = 0; event < append.events.length; event += 1) appends.push(index + 1);
  });
  const events =
    batch.length === 1 ? (batch[0] as AppendRequest).events : batch.flatMap(({ events: e }) => e);
  return [
    textArray(batch.map((append) => append.stream)),
    int8Array(batch.map((append) => expectedCode(append.expected))),
    int8Array(batch.map((append) => append.customerId)),
    int4Array(firsts),
    int4Array(batch.map((append) => append.events.length)),
    int4Array(appends),
    uuidArray(events.map((event) => event.id)),
    textArray(events.map((event) => event.type)),
    textArray(events.map((event) => event.data)),
    textArray(events.map((event) => event.metadata)),
    batch.map(({ hasOwnPositions = false }) => hasOwnPositions),
  ];
};
