import type { ClientBase } from 'pg';
import { int8Array, textArray, uuidArray } from '../postgres/binary-array.ts';
import { correlationFor } from '../tracing/correlation.ts';
import { traceparentFor } from '../tracing/tracing.ts';
import type { JsonObject } from '../event-store/event-store.ts';

export interface WorkRequest {
  readonly customerId: number;
  readonly key: string;
  /** Numbers are compared as numbers, positions of the log as texts. */
  readonly revision: number | string;
  /** Default: now. */
  readonly dueAt?: string | undefined;
  readonly data?: JsonObject;
  /** Default: that of the batch or of the work that requests it. */
  readonly correlationId?: string | undefined;
}

/** Text order equals number order. */
export const revisionText = (revision: number | string): string =>
  typeof revision === 'number' ? String(revision).padStart(16, '0') : revision;

/** In the order of the primary key, so that two writers never wait for each other. */
const inOrder = (requests: readonly WorkRequest[]): readonly WorkRequest[] =>
  [...requests].sort((a, b) => a.customerId - b.customerId || (a.key < b.key ? -1 : 1));

/**
 * All of the key comes from the arrays: with `kind` as a constant, a plan that is made while the list is short reads all
 * entries of the kind for each request, and stays when the list is long.
 */
const placesOf = (kind: string, requests: readonly WorkRequest[]): readonly Buffer[] => [
  textArray(requests.map(() => kind)),
  int8Array(requests.map(({ customerId }) => customerId)),
  uuidArray(requests.map(({ key }) => key)),
  textArray(requests.map(({ revision }) => revisionText(revision))),
];

/** A new revision waits for the lease to end. While it is held back, the entry keeps its last error. */
const RESET_COLUMNS = `attempts = 0, lost = 0, last_error = case when w.not_before > now() then w.last_error end,
  failed_at = case when w.not_before > now() then w.failed_at end`;

/**
 * Only a newer revision changes an entry.
 * @param keepsData the entry's members of `data` take precedence
 * @param isAgain any revision makes an entry due
 */
export const requestWork = async (
  client: ClientBase,
  kind: string,
  requests: readonly WorkRequest[],
  { keepsData = false, isAgain = false } = {},
): Promise<void> => {
  if (requests.length === 0) return;
  const sorted = inOrder(requests);
  await client.query({
    name: 'work-ask',
    text: `insert into work_list as w (kind, customer_id, key, revision, due_at, data, traceparent, correlation_id)
           select kind, customer_id, key, revision, coalesce(nullif(due_at, '')::timestamptz, now()), data::jsonb,
             nullif(traceparent, ''), nullif(correlation_id, '')
           from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $9::text[], $10::text[])
             as n(kind, customer_id, key, revision, due_at, data, traceparent, correlation_id)
           on conflict (kind, customer_id, key) do update
             set revision = greatest(w.revision, excluded.revision), asked_at = excluded.asked_at, due_at = greatest(excluded.due_at, w.not_before),
               data = case when $7 then excluded.data || w.data else excluded.data end, traceparent = excluded.traceparent,
               correlation_id = excluded.correlation_id,
               ${RESET_COLUMNS}
             where w.revision < excluded.revision or $8`,
    values: [
      ...placesOf(kind, sorted),
      textArray(sorted.map(({ dueAt = '' }) => dueAt)),
      textArray(sorted.map(({ data = {} }) => JSON.stringify(data))),
      keepsData,
      isAgain,
      textArray(sorted.map(({ customerId }) => traceparentFor(customerId) ?? '')),
      textArray(
        sorted.map(
          ({ customerId, key, correlationId }) => correlationId ?? correlationFor(customerId, key) ?? '',
        ),
      ),
    ],
  });
};

export const requestWorkAgain = async (
  client: ClientBase,
  kind: string,
  requests: readonly WorkRequest[],
): Promise<void> => {
  if (requests.length === 0) return;
  await client.query({
    name: 'work-ask-again',
    text: `update work_list w
           set revision = n.revision, asked_at = clock_timestamp(), due_at = greatest(now(), w.not_before), ${RESET_COLUMNS}
           from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[]) as n(kind, customer_id, key, revision)
           where w.kind = n.kind and w.customer_id = n.customer_id and w.key = n.key and w.revision < n.revision`,
    values: [...placesOf(kind, inOrder(requests))],
  });
};

export const removeWork = async (
  client: ClientBase,
  kind: string,
  requests: readonly WorkRequest[],
): Promise<void> => {
  if (requests.length === 0) return;
  await client.query({
    name: 'work-take-off',
    text: `delete from work_list w
           using unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[]) as n(kind, customer_id, key, revision)
           where w.kind = n.kind and w.customer_id = n.customer_id and w.key = n.key and w.revision < n.revision`,
    values: [...placesOf(kind, inOrder(requests))],
  });
};
