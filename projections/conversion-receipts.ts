import type { QueryConfig } from 'pg';
import type { ConversionsLogged } from '../domain/conversions/events.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';

const HOUR_MS = 3_600_000;

/** The rows of accepted items have no reason. */
const ACCEPTED = '';

/** Items of one source that arrived in one hour and were accepted, or rejected for one reason. */
export interface Receipt {
  readonly customerId: number;
  readonly sourceId: string;
  readonly advertiserId: number;
  readonly hourMs: number;
  readonly reason: string;
  count: number;
}

export type Receipts = Map<string, Receipt>;

/** @param occurredAt when the service decided about the call */
export const addReceipts = (
  receipts: Receipts,
  { customerId, sourceId }: Pick<Receipt, 'customerId' | 'sourceId'>,
  data: ConversionsLogged,
  occurredAt: string,
): void => {
  const hourMs = Math.floor(Date.parse(occurredAt) / HOUR_MS) * HOUR_MS;
  const add = (reason: string, count: number): void => {
    if (count === 0) return;
    const key = `${sourceId} ${hourMs} ${reason}`;
    const known = receipts.get(key);
    if (known !== undefined) known.count += count;
    else receipts.set(key, { customerId, sourceId, advertiserId: data.advertiserId, hourMs, reason, count });
  };
  add(ACCEPTED, data.eventTimes.length);
  // Each event of a call repeats the call's rejections: count the last one only.
  if (!data.last || data.rejected === 0) return;
  const { reasons = [[data.firstReason ?? 'unknown', data.rejected]] } = data;
  for (const [reason, count] of reasons) add(reason, count);
};

export const addReceiptRows = (receipts: readonly Receipt[]): QueryConfig => ({
  name: 'conversion-receipts-add',
  text: `insert into conversion_receipts as r (customer_id, source_id, hour, reason, advertiser_id, event_count)
         select customer_id, source_id, to_timestamp(hour), reason, advertiser_id, event_count
         from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[], $5::int[], $6::bigint[])
           as n(customer_id, source_id, hour, reason, advertiser_id, event_count)
         on conflict (customer_id, source_id, hour, reason) do update
           set event_count = r.event_count + excluded.event_count`,
  values: [
    int8Array(receipts.map(({ customerId }) => customerId)),
    uuidArray(receipts.map(({ sourceId }) => sourceId)),
    int8Array(receipts.map(({ hourMs }) => hourMs / 1_000)),
    textArray(receipts.map(({ reason }) => reason)),
    int4Array(receipts.map(({ advertiserId }) => advertiserId)),
    int8Array(receipts.map(({ count }) => count)),
  ],
});
