import type { ClientBase } from 'pg';
import { int8Array, textArray, uuidArray } from '../postgres/binary-array.ts';
import type { JsonObject } from '../event-store/event-store.ts';

/** One thing to do, as a projection asks for it. */
export interface Ask {
  readonly customerId: number;
  /** UUID of the subject of the work, e.g. a record. */
  readonly key: string;
  /** What is asked for. A number is compared as a number, a position of the log as a text. */
  readonly revision: number | string;
  /** ISO 8601. Default: now. */
  readonly dueAt?: string | undefined;
  readonly data?: JsonObject;
}

/** A number as the list keeps it: the order of the texts is that of the numbers. */
export const revisionText = (revision: number | string): string =>
  typeof revision === 'number' ? String(revision).padStart(16, '0') : revision;

/** In the order of the primary key, so that two writers never wait for each other. */
const inOrder = (asks: readonly Ask[]): readonly Ask[] =>
  [...asks].sort((a, b) => a.customerId - b.customerId || (a.key < b.key ? -1 : 1));

const placesOf = (asks: readonly Ask[]): readonly Buffer[] => [
  int8Array(asks.map(({ customerId }) => customerId)),
  uuidArray(asks.map(({ key }) => key)),
  textArray(asks.map(({ revision }) => revisionText(revision))),
];

/**
 * A new revision resets these columns. A worker that runs the entry keeps its lease, and the new revision waits for it.
 * While the new revision is held back, the entry keeps the reason.
 */
const RESET_COLUMNS = `attempts = 0, lost = 0, last_error = case when w.not_before > now() then w.last_error end,
  failed_at = case when w.not_before > now() then w.failed_at end`;

/**
 * Puts entries on the list. An entry of an older revision becomes one of the new revision, which begins with no attempts;
 * an entry of the same or a newer revision stays as it is.
 * @param keepsData members of `data` that an older revision has stay as they are
 */
export const askFor = async (
  client: ClientBase,
  kind: string,
  asks: readonly Ask[],
  { keepsData = false } = {},
): Promise<void> => {
  if (asks.length === 0) return;
  const sorted = inOrder(asks);
  await client.query({
    name: 'work-ask',
    text: `insert into work_list as w (kind, customer_id, key, revision, due_at, data)
           select $1, customer_id, key, revision, coalesce(nullif(due_at, '')::timestamptz, now()), data::jsonb
           from unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[])
             as n(customer_id, key, revision, due_at, data)
           on conflict (kind, customer_id, key) do update
             set revision = excluded.revision, asked_at = excluded.asked_at, due_at = greatest(excluded.due_at, w.not_before),
               data = case when $7 then excluded.data || w.data else excluded.data end, ${RESET_COLUMNS}
             where w.revision < excluded.revision`,
    values: [
      kind,
      ...placesOf(sorted),
      textArray(sorted.map(({ dueAt = '' }) => dueAt)),
      textArray(sorted.map(({ data = {} }) => JSON.stringify(data))),
      keepsData,
    ],
  });
};

/** The same for entries that are on the list already: what is not there is not put there. */
export const askAgain = async (client: ClientBase, kind: string, asks: readonly Ask[]): Promise<void> => {
  if (asks.length === 0) return;
  await client.query({
    name: 'work-ask-again',
    text: `update work_list w
           set revision = n.revision, asked_at = clock_timestamp(), due_at = greatest(now(), w.not_before), ${RESET_COLUMNS}
           from unnest($2::bigint[], $3::uuid[], $4::text[]) as n(customer_id, key, revision)
           where w.kind = $1 and w.customer_id = n.customer_id and w.key = n.key and w.revision < n.revision`,
    values: [kind, ...placesOf(inOrder(asks))],
  });
};

/** Takes entries of older revisions off the list. */
export const takeOff = async (client: ClientBase, kind: string, asks: readonly Ask[]): Promise<void> => {
  if (asks.length === 0) return;
  await client.query({
    name: 'work-take-off',
    text: `delete from work_list w
           using unnest($2::bigint[], $3::uuid[], $4::text[]) as n(customer_id, key, revision)
           where w.kind = $1 and w.customer_id = n.customer_id and w.key = n.key and w.revision < n.revision`,
    values: [kind, ...placesOf(inOrder(asks))],
  });
};
