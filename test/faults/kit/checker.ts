import type { Pool } from 'pg';
import { advertiserEvents, type AdvertiserEvent } from '../../../src/domain/advertisers/advertiser-events.ts';
import {
  advertiserStream,
  evolve,
  initialState,
  type Advertiser,
} from '../../../src/domain/advertisers/advertiser.ts';
import { advertiserBlocks } from '../../../src/projections/advertiser-rows.ts';
import { judgeBlocksSql } from '../../../src/projections/engine/list-blocks.ts';
import { toDomainEvent } from '../../../src/shared/command/recorded-domain-event.ts';
import { START, type EventStore, type RecordedEvent } from '../../../src/shared/event-store/event-store.ts';
import { successEnvelope } from '../../../src/shared/http/envelope.ts';
import { commandIdOfKey } from '../../../src/shared/ids.ts';
import type { History, Operation } from './history.ts';

/** What is wrong, by kind; a run is good when every list is empty. */
export interface Findings {
  readonly lost: string[];
  readonly duplicated: string[];
  readonly unasked: string[];
  readonly wrongAnswers: string[];
  readonly wrongReplays: readonly string[];
  readonly staleReads: readonly string[];
  readonly unexpected: string[];
  readonly unsettled: string[];
  readonly brokenLog: string[];
  readonly wrongRows: string[];
}

/**
 * Compares what the clients saw with the log, and the read model with the log. Call when nothing runs any
 * more but one healthy projector that has caught up.
 * @param days UTC dates on which the run may have claimed keys, `YYYYMMDD`
 */
export const checkHistory = async (
  history: History,
  store: EventStore,
  pool: Pool,
  days: readonly string[],
): Promise<Findings> => {
  const log = await wholeLog(store);
  const findings: Findings = {
    lost: [],
    duplicated: [],
    unasked: [],
    wrongAnswers: [],
    wrongReplays: history.wrongReplays,
    staleReads: history.staleReads,
    unexpected: [],
    unsettled: [],
    brokenLog: brokenLog(log),
    wrongRows: [],
  };
  const streams = foldStreams(log);
  checkOperations(history, log, streams, days, findings);
  await describeUnsettled(pool, history, findings);
  await checkRows(pool, streams, findings);
  return findings;
};

const wholeLog = async (store: EventStore): Promise<readonly RecordedEvent[]> => {
  const log: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readAll({ after: log.at(-1)?.position ?? START, limit: 1_000 });
    log.push(...page);
    if (page.length === 0) return log.filter(({ stream }) => stream.startsWith('advertiser-'));
  }
};

const brokenLog = (log: readonly RecordedEvent[]): string[] => {
  const problems: string[] = [];
  const revisions = new Map<string, number>();
  const ids = new Set<string>();
  for (const { stream, revision, id } of log) {
    const expected = (revisions.get(stream) ?? -1) + 1;
    if (revision !== expected) problems.push(`${stream}@${revision} follows ${expected - 1}`);
    revisions.set(stream, revision);
    if (ids.has(id)) problems.push(`event id ${id} is there twice`);
    ids.add(id);
  }
  return problems;
};

/** The state of every stream after each of its events. */
const foldStreams = (log: readonly RecordedEvent[]): ReadonlyMap<string, readonly Advertiser[]> => {
  const streams = new Map<string, Advertiser[]>();
  for (const event of log) {
    const states = streams.get(event.stream) ?? [];
    states.push(
      evolve(states.at(-1) ?? initialState, toDomainEvent(event, advertiserEvents) as AdvertiserEvent),
    );
    streams.set(event.stream, states);
  }
  return streams;
};

const checkOperations = (
  { operations }: History,
  log: readonly RecordedEvent[],
  streams: ReadonlyMap<string, readonly Advertiser[]>,
  days: readonly string[],
  findings: Findings,
): void => {
  const byCommand = new Map<string, RecordedEvent[]>();
  for (const event of log) {
    const { causationId } = event.metadata;
    byCommand.set(causationId, [...(byCommand.get(causationId) ?? []), event]);
  }
  const asked = new Set<string>();
  for (const operation of operations) {
    const ids = days.map((day) => commandIdOfKey(String(operation.customerId), operation.key, day));
    for (const id of ids) asked.add(id);
    checkEffect(
      operation,
      ids.flatMap((id) => byCommand.get(id) ?? []),
      streams,
      findings,
    );
  }
  for (const [command, events] of byCommand) {
    if (!asked.has(command)) findings.unasked.push(`${command}: ${events.map(({ type }) => type).join()}`);
  }
};

/** Every accepted operation of a run has exactly one event: its clients never ask for what holds already. */
const checkEffect = (
  operation: Operation,
  events: readonly RecordedEvent[],
  streams: ReadonlyMap<string, readonly Advertiser[]>,
  findings: Findings,
): void => {
  const { key, kind, outcome, customerId, advertiserId, body, status } = operation;
  const what = `${kind} ${key} of ${advertiserStream(customerId, advertiserId)} (${outcome} ${status})`;
  if (outcome !== 'gave-up' && outcome !== operation.expected) findings.unexpected.push(`${what}: ${body}`);
  const wanted = outcome === 'ok' ? 1 : 0;
  if (events.length < wanted) findings.lost.push(what);
  if (events.length > 1 || (outcome === 'refused' && events.length > 0)) findings.duplicated.push(what);
  const [event] = events;
  if (outcome !== 'ok' || event === undefined) return;
  if (event.stream !== advertiserStream(customerId, advertiserId))
    findings.wrongAnswers.push(`${what}: another stream`);
  const after = streams.get(event.stream)?.[event.revision];
  const expected = kind === 'archive' ? '' : successEnvelope(JSON.stringify(after));
  if (body !== expected) findings.wrongAnswers.push(`${what}: ${body}\n  but its fold is ${expected}`);
};

/** An operation that never became definite: what its key stands at may tell why. */
const describeUnsettled = async (
  pool: Pool,
  { operations }: History,
  { unsettled }: Findings,
): Promise<void> => {
  for (const { kind, key, outcome, body } of operations) {
    if (outcome !== 'gave-up') continue;
    const { rows } = await pool.query('select * from idempotency_keys where key = $1', [key]);
    unsettled.push(`${kind} ${key}: ${body}\n  the key stands at ${JSON.stringify(rows)}`);
  }
};

const checkRows = async (
  pool: Pool,
  streams: ReadonlyMap<string, readonly Advertiser[]>,
  { wrongRows }: Findings,
): Promise<void> => {
  const { rows } = await pool.query<{ stream: string; body: string; revision: string }>(
    `select 'advertiser-' || customer_id || '-' || id as stream, body, revision from advertisers`,
  );
  const byStream = new Map(rows.map((row) => [row.stream, row]));
  for (const [stream, states] of streams) {
    const row = byStream.get(stream);
    const body = JSON.stringify(states.at(-1));
    if (row?.body !== body || Number(row.revision) !== states.length - 1) {
      wrongRows.push(`${stream}: ${row?.body ?? 'no row'}\n  but its fold is ${body}`);
    }
  }
  for (const stream of byStream.keys()) {
    if (!streams.has(stream)) wrongRows.push(`${stream}: a row without events`);
  }
  const { rows: counts } = await pool.query<{ wrong: string }>(
    `select customer_id || '/' || status || '/' || sandbox as wrong
     from (select customer_id, status, sandbox, count(*) as n from advertisers group by 1, 2, 3) real
     full join (select * from advertiser_counts where count <> 0) kept using (customer_id, status, sandbox)
     where real.n is distinct from kept.count`,
  );
  for (const { wrong } of counts) wrongRows.push(`count of ${wrong}`);
  const { rows: blocks } = await pool.query<{ wrong: string }>(
    `select b.customer_id || '/' || b.kind as wrong from (
       ${judgeBlocksSql(advertiserBlocks, advertiserBlocks.table, advertiserBlocks.rows)}) b
     where b.astray > 0`,
  );
  for (const { wrong } of blocks) wrongRows.push(`blocks of ${wrong}`);
  const { rows: parked } = await pool.query<{ stream: string }>('select stream from parked_streams');
  for (const { stream } of parked) wrongRows.push(`${stream} is parked`);
};
