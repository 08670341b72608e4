import type { Installation } from '../../../app/installation.ts';
import { migrations } from '../../../migrations/index.ts';
import { ADVERTISER } from '../../../domain/advertisers/advertiser.ts';
import { allProjections } from '../../../projections/all-projections.ts';
import { isRebuildable, verifyOnline } from '../../../projections/engine/copy/online-rebuild.ts';
import type { RecordedEvent } from '../../../shared/event-store/event-store.ts';
import { successEnvelope } from '../../../shared/http/envelope.ts';
import { commandIdOfKey } from '../../../shared/aggregate/ids.ts';
import { createLog } from '../../../app/log.ts';
import { dataOf } from './client.ts';
import type { CountRange } from './command.ts';
import { partialWrites, type ReferencedStores } from './partial-writes.ts';
import type { History, Operation } from './history.ts';
import { foldStreams, logOf, type Streams } from './streams.ts';

/** Problems by kind. A run passes if every list is empty. */
export interface Findings {
  readonly lost: string[];
  readonly duplicated: string[];
  readonly unrequested: string[];
  readonly partialWrites: string[];
  readonly wrongAnswers: string[];
  readonly wrongReplays: readonly string[];
  readonly staleReads: readonly string[];
  readonly unexpected: string[];
  readonly unsettled: string[];
  readonly brokenLog: string[];
  readonly wrongRows: string[];
}

/** Read models of the clients' resources, and the audit log. */
const READ_MODELS =
  /^(?:advertisers|campaigns|creatives|creative-submissions|creative-sessions|assets|engine-connections|audit)$/;

/**
 * Compares the clients' history with the log, and the read models with the log. Call it when only one healthy projector
 * runs, which has caught up.
 * @param days UTC dates on which the run may have claimed keys, `YYYYMMDD`
 */
export const checkHistory = async (
  history: History,
  installation: Installation,
  keeps: ReferencedStores,
  days: readonly string[],
): Promise<Findings> => {
  const log = await logOf(installation.store);
  const streams = foldStreams(log);
  const findings: Findings = {
    lost: [],
    duplicated: [],
    unrequested: [],
    partialWrites: [...(await partialWrites(streams, keeps))],
    wrongAnswers: [],
    wrongReplays: history.wrongReplays,
    staleReads: history.staleReads,
    unexpected: [],
    unsettled: [],
    brokenLog: brokenLog(log),
    wrongRows: await wrongRowsOf(installation, streams),
  };
  checkOperations(history, log, streams, days, findings);
  await describeUnsettled(installation, history, findings);
  return findings;
};

/** Compares only the log and the read models, for runs in which others than the clients also write. */
export const checkLogAndRows = async (
  installation: Installation,
): Promise<Pick<Findings, 'brokenLog' | 'wrongRows'>> => {
  const log = await logOf(installation.store);
  return { brokenLog: brokenLog(log), wrongRows: await wrongRowsOf(installation, foldStreams(log)) };
};

const brokenLog = (log: readonly RecordedEvent[]): string[] => {
  const problems: string[] = [];
  const revisions = new Map<string, number>();
  const ids = new Set<string>();
  for (const { stream, revision, id } of log) {
    const expected = (revisions.get(stream) ?? -1) + 1;
    if (revision !== expected) problems.push(`${stream}@${revision} follows ${expected - 1}`);
    revisions.set(stream, revision);
    if (ids.has(id)) problems.push(`event id ${id} appears twice`);
    ids.add(id);
  }
  return problems;
};

const checkOperations = (
  { operations }: History,
  log: readonly RecordedEvent[],
  streams: Streams,
  days: readonly string[],
  findings: Findings,
): void => {
  const byRequest = new Map<string, RecordedEvent[]>();
  for (const event of log) {
    const { requestId } = event.metadata;
    byRequest.set(requestId, [...(byRequest.get(requestId) ?? []), event]);
  }
  const asked = new Set(operations.map(({ key }) => key));
  for (const operation of operations) {
    const events = byRequest.get(operation.key) ?? [];
    checkCounts(operation, events, findings);
    checkEffect(operation, events, streams, days, findings);
  }
  for (const [request, events] of byRequest) {
    if (!asked.has(request))
      findings.unrequested.push(`${request}: ${events.map(({ type }) => type).join()}`);
  }
};

const describeOperation = ({ command, key, outcome, status, body }: Operation): string =>
  `${command.kind}, ${key} (${outcome} ${status}): ${body}`;

/** A completed command has all events of each type, a refused one none. */
const checkCounts = (
  operation: Operation,
  events: readonly RecordedEvent[],
  { lost, duplicated, unrequested, partialWrites: partial }: Findings,
): void => {
  const { command, outcome } = operation;
  const counts: Readonly<Record<string, CountRange>> = { ...command.otherEvents, [command.event]: [1, 1] };
  const found = (wanted: string): number => events.filter(({ type }) => type === wanted).length;
  const what = `${describeOperation(operation)}: ${events.map(({ type }) => type).join()}`;
  if (outcome === 'refused' && events.length > 0) duplicated.push(what);
  for (const [type, [min, max]] of Object.entries(counts)) {
    if (outcome === 'ok' && found(type) < min) (type === command.event ? lost : partial).push(what);
    if (found(type) > max) duplicated.push(what);
  }
  if (events.some(({ type }) => !Object.hasOwn(counts, type))) unrequested.push(what);
};

/** Every accepted operation has its event: clients never request a state that exists already. */
const checkEffect = (
  operation: Operation,
  events: readonly RecordedEvent[],
  streams: Streams,
  days: readonly string[],
  { wrongAnswers, unrequested, unexpected }: Findings,
): void => {
  const { command, key, outcome, customerId, status } = operation;
  const what = describeOperation(operation);
  const isDefinite = outcome === 'ok' || outcome === 'refused';
  if (isDefinite && outcome !== command.expected) unexpected.push(what);
  const event = events.find(({ type }) => type === command.event);
  if (outcome !== 'ok' || event === undefined) return;
  const { causationId: commandId } = event.metadata;
  const { causedBy = (id: string) => id } = command;
  const asked = days.map((day) => causedBy(commandIdOfKey(String(customerId), key, day)));
  if (command.sent !== 'once' && !asked.includes(commandId)) unrequested.push(`${what}: by ${commandId}`);
  const data = dataOf(operation);
  if (event.stream !== command.stream(data)) wrongAnswers.push(`${what}: in ${event.stream}`);
  const state = streams.get(event.stream)?.[event.revision];
  const expected =
    command.status === 204 ? '' : successEnvelope(JSON.stringify(command.answer({ state, commandId, data })));
  if (operation.body !== expected || status !== command.status)
    wrongAnswers.push(`${what}\n  but its folded stream is ${command.status} ${expected}`);
};

/** Describes an operation without a definite outcome. The state of its key may show the cause. */
const describeUnsettled = async (
  { pool }: Installation,
  { operations }: History,
  { unsettled }: Findings,
): Promise<void> => {
  for (const operation of operations) {
    if (operation.outcome !== 'gave-up') continue;
    const { rows } = await pool.query('select * from idempotency_keys where key = $1', [operation.key]);
    unsettled.push(`${describeOperation(operation)}\n  the state of its key is ${JSON.stringify(rows)}`);
  }
};

const wrongRowsOf = async (installation: Installation, streams: Streams): Promise<string[]> => {
  const wrong = await wrongAdvertisers(installation, streams);
  const { rows: parked } = await installation.pool.query<{ stream: string }>(
    'select stream from parked_streams',
  );
  // Parked streams are missing both in the live rows and in rebuilt ones.
  if (parked.length > 0) return [...wrong, ...parked.map(({ stream }) => `${stream} is parked`)];
  return [...wrong, ...(await differingRows(installation))];
};

/** Compares this read model with folded streams. The others are compared with their own rebuild. */
const wrongAdvertisers = async ({ pool }: Installation, streams: Streams): Promise<readonly string[]> => {
  const wrong: string[] = [];
  const { rows } = await pool.query<{ stream: string; body: string; revision: string }>(
    `select 'advertiser-' || customer_id || '-' || id as stream, body, revision from advertisers`,
  );
  const byStream = new Map(rows.map((row) => [row.stream, row]));
  for (const [stream, states] of streams) {
    if (!stream.startsWith(`${ADVERTISER}-`)) continue;
    const row = byStream.get(stream);
    const body = JSON.stringify(states.at(-1));
    if (row?.body !== body || Number(row.revision) !== states.length - 1) {
      wrong.push(`${stream}: ${row?.body ?? 'no row'}\n  but its folded stream is ${body}`);
    }
  }
  for (const stream of byStream.keys()) {
    if (!streams.has(stream)) wrong.push(`${stream}: a row without events`);
  }
  const { rows: counts } = await pool.query<{ wrong: string }>(
    `select customer_id || '/' || status || '/' || sandbox as wrong
     from (select customer_id, status, sandbox, count(*) as n from advertisers group by 1, 2, 3) real
     full join (select * from advertiser_counts where count <> 0) kept using (customer_id, status, sandbox)
     where real.n is distinct from kept.count`,
  );
  return [...wrong, ...counts.map(({ wrong: count }) => `count of ${count}`)];
};

/** Rows of the live read models that differ from a rebuild of the whole log. */
const differingRows = async ({ databaseUrl, store }: Installation): Promise<readonly string[]> => {
  const wrong: string[] = [];
  for (const projection of allProjections
    .filter(({ name }) => READ_MODELS.test(name))
    .filter(isRebuildable)) {
    const { tables } = await verifyOnline(
      {
        databaseUrl,
        store,
        log: createLog('silent'),
        program: 'crash run',
        migrations: migrations.map(({ name }) => name),
        signal: new AbortController().signal,
        onProgress: () => undefined,
      },
      projection,
    );
    for (const { table, shown } of tables) {
      for (const row of shown) wrong.push(`${projection.name}, ${table}: ${JSON.stringify(row)}`);
    }
  }
  return wrong;
};
