import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClientBase, QueryConfig } from 'pg';
import {
  CONVERSIONS,
  conversionEvents,
  sourceOfStream,
  typeAt,
  type ConversionsLogged,
  type Health,
} from '../domain/conversions/events.ts';
import { FINGERPRINT_WORDS, fingerprintsOf } from '../domain/conversions/fingerprint.ts';
import { isoTimestamp } from '../shared/async/clock.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { byteaArray, int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { addReceiptRows, addReceipts, type Receipts } from './conversion-receipts.ts';
import { addItems, sumText, type HourSum, type HourSums } from './conversion-sums.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { byStream } from './engine/fold-streams.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

/** Segments depend on batches; a day's segments together do not. Omits days that a purge may have begun. */
const fingerprintsOfDays = {
  select: (
    table: string,
  ): string => `select customer_id, source_id, (recorded_at at time zone 'UTC')::date as day,
      min(first_revision) as first_revision, max(last_revision) as last_revision,
      md5(string_agg(fingerprints, ''::bytea order by last_revision)) as fingerprints,
      md5(string_agg(commands, ''::bytea order by last_revision)) as commands
    from ${table} where recorded_at > ((now() at time zone 'UTC')::date - 93)::timestamp at time zone 'UTC'
    group by 1, 2, 3`,
  key: ['customer_id', 'source_id', 'day'],
} as const;

/** Without `recorded_at`, which is the time of the batch's last event. */
const recentCommands = {
  select: (table: string): string => `select customer_id, source_id, command_id, revision
    from ${table} where recorded_at > ((now() at time zone 'UTC')::date - 2)::timestamp at time zone 'UTC'`,
  key: ['customer_id', 'source_id', 'command_id', 'revision'],
} as const;

/** `conversion_health.revision` is the last applied revision of a source in all tables. */
export const conversionsProjection: Projection = {
  name: 'conversions',
  categories: [CONVERSIONS],
  tables: [
    'conversion_segments',
    'conversion_commands',
    'conversion_hours',
    'conversion_receipts',
    'conversion_health',
  ],
  compared: {
    conversion_segments: { instead: fingerprintsOfDays },
    conversion_commands: { instead: recentCommands },
    // The purge deletes older rows (`expired-rows.ts`); one day of margin.
    conversion_hours: { where: `hour > now() - interval '399 days'`, close: ['value_sum'] },
    conversion_receipts: { where: `hour > now() - interval '399 days'` },
  },
  apply: async (client, events) => {
    const streams = byStream(events);
    const before = await loadRevisions(client, [...streams.keys()]);
    const changes: Changes = { segments: [], sums: new Map(), receipts: new Map(), health: [] };
    for (const [stream, ofStream] of streams) await collect(changes, before.get(stream) ?? -1, ofStream);
    if (changes.health.length === 0) return;
    await sendInOrder(client, writes(changes));
  },
};

interface SourceHealth {
  readonly customerId: number;
  readonly sourceId: string;
  readonly advertiserId: number;
  readonly revision: number;
  readonly status: Health;
  /** Null: unchanged by this batch. */
  readonly lastEventAt: string | null;
  readonly lastReceivedAt: string | null;
  readonly lastType: string | null;
  readonly lastError: string | null;
  readonly lastErrorAt: string | null;
}

interface Segment {
  readonly customerId: number;
  readonly sourceId: string;
  readonly firstRevision: number;
  lastRevision: number;
  recordedAt: string;
  readonly fingerprints: Buffer[];
  readonly commandIds: string[];
}

interface Changes {
  readonly segments: Segment[];
  readonly sums: HourSums;
  readonly receipts: Receipts;
  readonly health: SourceHealth[];
}

const collect = async (changes: Changes, known: number, events: readonly RecordedEvent[]): Promise<void> => {
  let health: SourceHealth | undefined;
  let segment: Segment | undefined;
  let revision = known;
  for (const event of events) {
    if (event.revision <= revision) continue;
    if (event.revision !== revision + 1) {
      throw new UnprojectableEventError(event, `revision ${revision + 1} is missing before it`);
    }
    const source = sourceOfStream(event.stream);
    if (source === undefined) throw new UnprojectableEventError(event, 'not the stream of a source');
    const data = decodeEvent(event, conversionEvents).data as ConversionsLogged;
    ({ revision } = event);
    if (segment === undefined || dayOf(segment.recordedAt) !== dayOf(event.recordedAt)) {
      if (segment !== undefined) changes.segments.push(segment);
      segment = newSegment(source, revision);
    }
    segment.lastRevision = revision;
    segment.recordedAt = event.recordedAt;
    segment.fingerprints.push(fingerprintsIn(source.sourceId, data));
    segment.commandIds.push(event.metadata.causationId);
    addItems(changes.sums, source, data);
    addReceipts(changes.receipts, source, data, event.metadata.occurredAt);
    health = healthAfter(health, event, source, data);
    // Events are large: yield to other work of the process between two of them.
    if (data.eventIds.length >= 1_000) await nextTurn();
  }
  if (health !== undefined) changes.health.push(health);
  if (segment !== undefined) changes.segments.push(segment);
};

type Source = Pick<Segment, 'customerId' | 'sourceId'>;

/** Purged by age, so a segment contains events of one UTC day. */
const dayOf = (recordedAt: string): string => recordedAt.slice(0, 10);

// Written out here and below: an object that is spread and then extended takes 20 times as long.
const newSegment = ({ customerId, sourceId }: Source, revision: number): Segment => ({
  customerId,
  sourceId,
  firstRevision: revision,
  lastRevision: revision,
  recordedAt: '',
  fingerprints: [],
  commandIds: [],
});

const fingerprintsIn = (sourceId: string, data: ConversionsLogged): Buffer => {
  const { eventIds } = data;
  const bytes = Buffer.allocUnsafe(Uint32Array.BYTES_PER_ELEMENT * FINGERPRINT_WORDS * eventIds.length);
  // A view: a memory block for each event would burden the garbage collector.
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, FINGERPRINT_WORDS * eventIds.length);
  const fingerprintInto = fingerprintsOf(sourceId);
  for (let item = 0; item < eventIds.length; item += 1) {
    fingerprintInto(typeAt(data, item), eventIds[item] as string, words, FINGERPRINT_WORDS * item);
  }
  // Native byte order: little-endian on every supported machine.
  return bytes;
};

const healthAfter = (
  before: SourceHealth | undefined,
  event: RecordedEvent,
  { customerId, sourceId }: Source,
  data: ConversionsLogged,
): SourceHealth => {
  const items = data.eventTimes.length;
  const latestMs = data.eventTimes.reduce((latest, timeMs) => Math.max(latest, timeMs), -1);
  const latest = items === 0 ? null : isoTimestamp(latestMs);
  // Each event of a call repeats the call's rejections: count the last one only.
  const isError = data.rejected > 0 && data.last;
  return {
    customerId,
    sourceId,
    advertiserId: data.advertiserId,
    revision: event.revision,
    status: data.health,
    lastEventAt: laterOf(before?.lastEventAt ?? null, latest),
    lastReceivedAt: items === 0 ? (before?.lastReceivedAt ?? null) : event.metadata.occurredAt,
    lastType: items === 0 ? (before?.lastType ?? null) : typeAt(data, items - 1),
    lastError: isError ? (data.firstReason ?? null) : (before?.lastError ?? null),
    lastErrorAt: isError ? event.metadata.occurredAt : (before?.lastErrorAt ?? null),
  };
};

/** ISO 8601 in UTC with a fixed length: texts compare as times. */
const laterOf = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;

const loadRevisions = async (
  client: ClientBase,
  streams: readonly string[],
): Promise<Map<string, number>> => {
  const sources = streams.flatMap((stream) => {
    const source = sourceOfStream(stream);
    return source === undefined ? [] : [{ stream, ...source }];
  });
  const { rows } = await client.query<{ stream: string; revision: string }>({
    name: 'conversions-load',
    text: `select s.stream, h.revision
           from unnest($1::text[], $2::bigint[], $3::uuid[]) as s(stream, customer_id, source_id)
           join conversion_health h on h.customer_id = s.customer_id and h.source_id = s.source_id`,
    values: [
      textArray(sources.map(({ stream }) => stream)),
      int8Array(sources.map(({ customerId }) => customerId)),
      uuidArray(sources.map(({ sourceId }) => sourceId)),
    ],
  });
  return new Map(rows.map(({ stream, revision }) => [stream, Number(revision)]));
};

function* writes({ segments, sums, receipts, health }: Changes): Generator<QueryConfig> {
  for (const piece of inPieces(segments)) {
    yield insertSegments(piece);
    yield insertCommands(piece);
  }
  for (const piece of inPieces([...sums.values()])) yield addSums(piece);
  for (const piece of inPieces([...receipts.values()])) yield addReceiptRows(piece);
  for (const piece of inPieces(health)) yield writeHealth(piece);
}

const insertSegments = (segments: readonly Segment[]): QueryConfig => {
  const commandsOf = ({ commandIds }: Segment): Buffer =>
    Buffer.from(commandIds.join('').replaceAll('-', ''), 'hex');
  return {
    name: 'conversion-segments-insert',
    text: `insert into conversion_segments
             (customer_id, source_id, first_revision, last_revision, recorded_at, fingerprints, commands)
           select customer_id, source_id, first, last, recorded_at::timestamptz, fingerprints, commands
           from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bytea[])
             as n(customer_id, source_id, first, last, recorded_at, fingerprints, commands)`,
    values: [
      int8Array(segments.map(({ customerId }) => customerId)),
      uuidArray(segments.map(({ sourceId }) => sourceId)),
      int8Array(segments.map(({ firstRevision }) => firstRevision)),
      int8Array(segments.map(({ lastRevision }) => lastRevision)),
      textArray(segments.map(({ recordedAt }) => recordedAt)),
      byteaArray(segments.map(({ fingerprints }) => Buffer.concat(fingerprints))),
      byteaArray(segments.map(commandsOf)),
    ],
  };
};

const insertCommands = (segments: readonly Segment[]): QueryConfig => {
  const rows = segments.flatMap(({ customerId, sourceId, recordedAt, firstRevision, commandIds }) =>
    commandIds.map((commandId, at) => ({
      customerId,
      sourceId,
      recordedAt,
      commandId,
      revision: firstRevision + at,
    })),
  );
  return {
    name: 'conversion-commands-insert',
    text: `insert into conversion_commands (customer_id, source_id, command_id, revision, recorded_at)
           select customer_id, source_id, command_id, revision, recorded_at::timestamptz
           from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[])
             as n(customer_id, source_id, command_id, revision, recorded_at)
           on conflict do nothing`,
    values: [
      int8Array(rows.map(({ customerId }) => customerId)),
      uuidArray(rows.map(({ sourceId }) => sourceId)),
      uuidArray(rows.map(({ commandId }) => commandId)),
      int8Array(rows.map(({ revision }) => revision)),
      textArray(rows.map(({ recordedAt }) => recordedAt)),
    ],
  };
};

const addSums = (sums: readonly HourSum[]): QueryConfig => {
  const texts = sums.map(sumText);
  return {
    name: 'conversion-hours-add',
    text: `insert into conversion_hours as h
             (customer_id, source_id, hour, event_type, currency, advertiser_id, event_count, value_sum)
           select customer_id, source_id, to_timestamp(hour), event_type, currency, advertiser_id, event_count,
             exact::numeric + rest::numeric
           from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::bigint[],
             $8::text[], $9::text[])
             as n(customer_id, source_id, hour, event_type, currency, advertiser_id, event_count, exact, rest)
           on conflict (customer_id, source_id, hour, event_type, currency) do update
             set event_count = h.event_count + excluded.event_count, value_sum = h.value_sum + excluded.value_sum`,
    values: [
      int8Array(sums.map(({ customerId }) => customerId)),
      uuidArray(sums.map(({ sourceId }) => sourceId)),
      int8Array(sums.map(({ hourMs }) => hourMs / 1_000)),
      textArray(sums.map(({ eventType }) => eventType)),
      textArray(sums.map(({ currency }) => currency)),
      int4Array(sums.map(({ advertiserId }) => advertiserId)),
      int8Array(sums.map(({ count }) => count)),
      textArray(texts.map(([exact]) => exact)),
      textArray(texts.map(([, rest]) => rest)),
    ],
  };
};

const writeHealth = (sources: readonly SourceHealth[]): QueryConfig => {
  return {
    name: 'conversion-health-write',
    text: `insert into conversion_health as h (customer_id, source_id, advertiser_id, revision, status,
             last_event_at, last_event_received_at, last_event_type, last_error, last_error_at)
           select customer_id, source_id, advertiser_id, revision, status, nullif(event_at, '')::timestamptz,
             nullif(received_at, '')::timestamptz, nullif(event_type, ''), nullif(error, ''),
             nullif(error_at, '')::timestamptz
           from unnest($1::bigint[], $2::uuid[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::text[])
             as n(customer_id, source_id, advertiser_id, revision, status, event_at, received_at, event_type, error,
               error_at)
           on conflict (customer_id, source_id) do update set
             advertiser_id = excluded.advertiser_id, revision = excluded.revision, status = excluded.status,
             last_event_at = greatest(h.last_event_at, excluded.last_event_at),
             last_event_received_at = coalesce(excluded.last_event_received_at, h.last_event_received_at),
             last_event_type = coalesce(excluded.last_event_type, h.last_event_type),
             last_error = coalesce(excluded.last_error, h.last_error),
             last_error_at = coalesce(excluded.last_error_at, h.last_error_at)`,
    values: [
      int8Array(sources.map(({ customerId }) => customerId)),
      uuidArray(sources.map(({ sourceId }) => sourceId)),
      int4Array(sources.map(({ advertiserId }) => advertiserId)),
      int8Array(sources.map(({ revision }) => revision)),
      textArray(sources.map(({ status }) => status)),
      textArray(sources.map(({ lastEventAt }) => lastEventAt ?? '')),
      textArray(sources.map(({ lastReceivedAt }) => lastReceivedAt ?? '')),
      textArray(sources.map(({ lastType }) => lastType ?? '')),
      textArray(sources.map(({ lastError }) => lastError ?? '')),
      textArray(sources.map(({ lastErrorAt }) => lastErrorAt ?? '')),
    ],
  };
};
