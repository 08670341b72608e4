import type { Pool } from 'pg';
import { coalesce } from '../../../shared/async/coalesce.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../../../shared/postgres/binary-array.ts';

export interface Attempt {
  /** `performance.now()` */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly status: number | undefined;
  /** A class of errors; undefined after a success. */
  readonly error: string | undefined;
  readonly head: string | undefined;
}

export interface Outcome {
  readonly customerId: number;
  readonly subscriptionId: string;
  readonly deliveryId: string;
  /** Before this one. */
  readonly attempts: number;
  readonly roundBeganAt: number;
  readonly state: 'delivered' | 'due' | 'failed';
  /** Time until the next attempt. */
  readonly dueMs: number;
  readonly attempt: Attempt;
  /** The endpoint as a whole must be left alone for a while: at least this time. Undefined: it need not. */
  readonly slowMs: number | undefined;
}

const OUTCOMES_MAX = 200;

/** Outcomes of all runs of this process share statements. A redelivery during the attempt begins another round. */
export const createSettle = (pool: Pool): ((outcome: Outcome) => Promise<void>) => {
  const settleSome = coalesce<Outcome, boolean>(
    async (outcomes) => {
      const reached = await settleAll(pool, outcomes, 'skip locked');
      await changeHealth(pool, outcomes);
      return outcomes.map(({ deliveryId }) => reached.has(deliveryId));
    },
    { batchMax: OUTCOMES_MAX, inFlightMax: 1 },
  );
  return async (outcome) => {
    if (await settleSome(outcome)) return;
    // The fan-out has locked the row, or changed it. Alone, this cannot deadlock.
    await settleAll(pool, [outcome], '');
  };
};

/** Without the limit, the planner would scan the index of all due deliveries for each outcome. */
const settleAll = async (
  pool: Pool,
  outcomes: readonly Outcome[],
  locked: 'skip locked' | '',
): Promise<ReadonlySet<string>> => {
  const now = performance.now();
  const { rows } = await pool.query<{ id: string }>({
    name: `webhook-settle-${locked}`,
    text: `with reached as materialized (
             select o.*, o.state <> 'delivered' and d.round_began_at <> o.round_began_at as is_again,
               now() - o.age_ms * interval '1 millisecond' as started_at
             from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::bigint[], $7::int[],
                    $8::int[], $9::int[], $10::text[], $11::text[], $12::int[])
               as o(customer_id, subscription_id, id, attempts, state, due_ms, age_ms, duration_ms, status,
                    error, head, round_began_at)
             cross join lateral (
               select state, attempts, round_began_at from webhook_deliveries
               where customer_id = o.customer_id and id = o.id limit 1 for update ${locked}
             ) d
             where d.state = 'due' and d.attempts = o.attempts
           ), attempts as (
             insert into webhook_attempts
               (customer_id, delivery_id, attempt, started_at, duration_ms, status, error, response_head)
             select customer_id, id, attempts + 1, started_at, duration_ms, nullif(status, 0), nullif(error, ''),
               nullif(head, '')
             from reached on conflict do nothing
           ), settled as (
             update webhook_deliveries d
             set state = case when r.is_again then 'due' else r.state end,
               due_at = now() + case when r.is_again then 0 else r.due_ms end * interval '1 millisecond',
               attempts = r.attempts + 1, last_attempt_at = r.started_at, last_status = nullif(r.status, 0),
               last_error = nullif(r.error, ''),
               first_attempt_at = case when r.attempts = d.round_began_at then r.started_at else d.first_attempt_at end
             from reached r where d.customer_id = r.customer_id and d.id = r.id
           )
           select id from reached`,
    values: [
      int8Array(outcomes.map(({ customerId }) => customerId)),
      uuidArray(outcomes.map(({ subscriptionId }) => subscriptionId)),
      uuidArray(outcomes.map(({ deliveryId }) => deliveryId)),
      int4Array(outcomes.map(({ attempts }) => attempts)),
      textArray(outcomes.map(({ state }) => state)),
      int8Array(outcomes.map(({ dueMs }) => dueMs)),
      int4Array(outcomes.map(({ attempt }) => Math.round(now - attempt.startedAt))),
      int4Array(outcomes.map(({ attempt }) => Math.round(attempt.durationMs))),
      int4Array(outcomes.map(({ attempt }) => attempt.status ?? 0)),
      textArray(outcomes.map(({ attempt }) => attempt.error ?? '')),
      textArray(outcomes.map(({ attempt }) => attempt.head ?? '')),
      int4Array(outcomes.map(({ roundBeganAt }) => roundBeganAt)),
    ],
  });
  return new Set(rows.map(({ id }) => id));
};

interface HealthChange {
  readonly customerId: number;
  readonly subscriptionId: string;
  /** Since the last success. */
  failures: Outcome[];
  lastSuccess?: Outcome;
  lastFailure?: Outcome;
}

const changesOf = (outcomes: readonly Outcome[]): readonly HealthChange[] => {
  const changes = new Map<string, HealthChange>();
  for (const outcome of outcomes) {
    const { customerId, subscriptionId } = outcome;
    const change = changes.get(subscriptionId) ?? { customerId, subscriptionId, failures: [] };
    changes.set(subscriptionId, change);
    if (outcome.state === 'delivered') {
      change.failures = [];
      change.lastSuccess = outcome;
    } else {
      change.failures.push(outcome);
      change.lastFailure = outcome;
    }
  }
  return [...changes.values()];
};

const FAILURES = 'case when excluded.last_success_at is null then h.failures else 0 end + excluded.failures';

/** Between attempts of a slow endpoint: 1 s, doubled with each failure, up to a minute. */
const PAUSE = `least(60, power(2, least(10, ${FAILURES}) - 1)) * interval '1 second'`;

/** A steady endpoint's row changes once a second. */
const changeHealth = async (pool: Pool, outcomes: readonly Outcome[]): Promise<void> => {
  const now = performance.now();
  const changes = changesOf(outcomes);
  const ages = (of: (change: HealthChange) => Outcome | undefined): Buffer =>
    int8Array(
      changes.map((change) => {
        const attempt = of(change)?.attempt;
        return attempt === undefined ? -1 : Math.round(now - attempt.startedAt - attempt.durationMs);
      }),
    );
  const ago = (ms: string): string =>
    `case when ${ms} >= 0 then now() - ${ms} * interval '1 millisecond' end`;
  await pool.query({
    name: 'webhook-health',
    text: `insert into webhook_health as h (customer_id, subscription_id, failures, failing_since, slow_until,
             last_success_at, last_failure_at)
           select customer_id, subscription_id, failures, ${ago('failing_ms')},
             case when slow_ms >= 0 then now() + greatest(1000, slow_ms) * interval '1 millisecond' end,
             ${ago('success_ms')}, ${ago('failure_ms')}
           from unnest($1::bigint[], $2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
             as c(customer_id, subscription_id, failures, failing_ms, slow_ms, success_ms, failure_ms)
           order by customer_id, subscription_id
           on conflict (customer_id, subscription_id) do update
             set failures = ${FAILURES},
               failing_since = case when excluded.last_success_at is null
                 then coalesce(h.failing_since, excluded.failing_since) else excluded.failing_since end,
               notices = case when excluded.last_success_at is null then h.notices else 0 end,
               slow_until = case when excluded.failures > 0 and (excluded.slow_until is not null
                   or (h.slow_until is not null and excluded.last_success_at is null))
                 then greatest(excluded.slow_until, now() + ${PAUSE}) end,
               last_success_at = greatest(h.last_success_at, excluded.last_success_at),
               last_failure_at = greatest(h.last_failure_at, excluded.last_failure_at)
             where excluded.failures > 0 or h.failures > 0 or h.slow_until is not null or h.last_success_at is null
               or h.last_success_at < excluded.last_success_at - interval '1 second'`,
    values: [
      int8Array(changes.map(({ customerId }) => customerId)),
      uuidArray(changes.map(({ subscriptionId }) => subscriptionId)),
      int4Array(changes.map(({ failures }) => failures.length)),
      ages(({ failures }) => failures[0]),
      int8Array(
        changes.map(({ failures }) => Math.max(-1, ...failures.map(({ slowMs = -1 }) => Math.round(slowMs)))),
      ),
      ages(({ lastSuccess }) => lastSuccess),
      ages(({ lastFailure }) => lastFailure),
    ],
  });
};
