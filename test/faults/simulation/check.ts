import type { RecordedEvent } from '../../../shared/event-store/event-store.ts';
import { successEnvelope } from '../../../shared/http/envelope.ts';
import { REPLAY_HOURS } from '../../../shared/idempotency/claim.ts';
import { commandIdOfKey } from '../../../shared/aggregate/ids.ts';
import { foldAll, readModelProblems } from './check-read-model.ts';
import { isDefinite, type Attempt } from './client.ts';
import type { Tables } from './database.ts';
import { dayOf } from './key-statements.ts';
import { eventProblem, logProblems } from './check-log.ts';
import { CUSTOMER_ID } from './request.ts';
import { SEEDED_BY } from './simulated-log.ts';

export interface Evidence {
  readonly history: readonly Attempt[];
  readonly events: readonly RecordedEvent[];
  readonly tables: Tables;
  /** Keys of commands without an event at least once, because the requested state existed already. */
  readonly withoutEffect: ReadonlySet<string>;
}

const REPLAY_MS = REPLAY_HOURS * 3_600_000;
const DAY_MS = 86_400_000;

const isDone = ({ reply }: Attempt): boolean => reply.status >= 200 && reply.status < 300;

const isRefused = (attempt: Attempt): boolean => isDefinite(attempt.reply) && !isDone(attempt);

/** Compares the clients' history, the log and the read model. */
export const check = ({ history, events, tables, withoutEffect }: Evidence): readonly string[] => {
  const problems = [...logProblems(events), ...readModelProblems(tables, events)];
  const states = foldAll(events);
  const written = events.filter(({ metadata }) => metadata.causationId !== SEEDED_BY);
  const keyOfCommand = commandIds(history);
  for (const event of written) {
    if (!keyOfCommand.has(event.metadata.causationId)) problems.push(`no request has the event ${event.id}`);
  }
  for (const [key, attempts] of groupBy(history, ({ request }) => request.key)) {
    const effects = written.filter(({ metadata }) => keyOfCommand.get(metadata.causationId) === key);
    const answers = new Map(
      effects.map(({ id }) => [successEnvelope(JSON.stringify(states.get(id))), id] as const),
    );
    const completedAt = tables.completions.get(key)?.['at'];
    const found = keyProblems(attempts, effects, {
      answers,
      mayLeaveNoEvent: withoutEffect.has(key),
      ...(typeof completedAt === 'number' ? { completedAt } : {}),
    });
    problems.push(...found.map((text) => `${key}: ${text}`));
  }
  return problems;
};

const groupBy = <T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(nameOf(item), [...(groups.get(nameOf(item)) ?? []), item]);
  return groups;
};

/** Each command id that a key may have had, with the key. */
const commandIds = (history: readonly Attempt[]): ReadonlyMap<string, string> => {
  const ids = new Map<string, string>();
  const last = Math.max(...history.map(({ answeredAt }) => answeredAt));
  for (const { request, sentAt } of history) {
    for (let at = sentAt; at < last + DAY_MS; at += DAY_MS) {
      ids.set(commandIdOfKey(String(CUSTOMER_ID), request.key, dayOf(at)), request.key);
    }
  }
  return ids;
};

interface KeyFacts {
  /** Answer bodies that show the state right after one of the key's events. */
  readonly answers: ReadonlyMap<string, string>;
  readonly mayLeaveNoEvent: boolean;
  /** When its answer was first stored. */
  readonly completedAt?: number;
}

const keyProblems = (
  attempts: readonly Attempt[],
  effects: readonly RecordedEvent[],
  { answers, mayLeaveNoEvent, completedAt }: KeyFacts,
): readonly string[] => {
  const problems: string[] = [];
  const done = attempts.filter(isDone);
  const doneAt = completedAt ?? Math.min(...done.map(({ answeredAt }) => answeredAt));
  const isHonored = ({ answeredAt }: Attempt): boolean => answeredAt < doneAt + REPLAY_MS;
  const early = effects.filter(({ recordedAt }) => Date.parse(recordedAt) < doneAt + REPLAY_MS);
  if (early.length > 1 || effects.length > 2) problems.push(`${effects.length} effects`);
  const events = effects.flatMap((event) => eventProblem(event, attempts) ?? []);
  problems.push(...events);
  if (done.length > 0 && effects.length === 0 && !mayLeaveNoEvent)
    problems.push('acknowledged, but not in the log');
  for (const { reply } of done) {
    if (reply.status === 204 || answers.has(reply.body) || mayLeaveNoEvent) continue;
    problems.push(`the answer differs from the state at its event: ${reply.body}`);
  }
  const bodies = new Set(done.filter(isHonored).map(({ reply }) => reply.body));
  if (bodies.size > 1 && !mayLeaveNoEvent) problems.push(`${bodies.size} different answers`);
  for (const [value, ofRequest] of groupBy(attempts, ({ request }) => request.value)) {
    if (!effects.some((event) => eventProblem(event, ofRequest) === undefined)) continue;
    if (isTakenBack(ofRequest.filter(isHonored)))
      problems.push(`${value} was finally refused, but is in the log`);
  }
  return problems;
};

/**
 * True for a final refusal if every earlier attempt was answered, also with 503. An attempt with a lost connection does
 * not count: it may still be running when the next one is refused.
 */
const isTakenBack = (attempts: readonly Attempt[]): boolean => {
  const last = attempts.at(-1);
  if (last === undefined || attempts.some(isDone) || attempts.some(({ reply }) => reply.status === 0))
    return false;
  return isRefused(last) && !last.reply.body.includes('IDEMPOTENCY_CONFLICT');
};
