import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { Counter, type Registry } from 'prom-client';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { RefusedRequest } from '../../shared/http/route-handler.ts';
import type { Route } from '../../shared/http/route.ts';
import type { Logger } from 'pino';
import { int4Array, int8Array, textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';

export interface RouteSubject {
  readonly resourceType: AuditedResource;
  /** In the path, or in the credential. Absent when the resource has no id yet, e.g. on creation. */
  readonly idParameter?: string;
  readonly advertiserParameter?: string;
  readonly campaignParameter?: string;
}

export interface AttemptLogOptions {
  readonly pool: Pick<Pool, 'query'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly subjectOf: (route: Route) => RouteSubject | undefined;
}

export interface AttemptLog {
  refused(request: RefusedRequest): void;
  /** @throws any database error; the refusals stay queued then */
  flush(): Promise<void>;
}

type AttemptOutcome = 'denied' | 'failed';

interface Attempt {
  /** Makes a repeated insert idempotent, when the first one committed without an answer. */
  readonly id: string;
  readonly customerId: number;
  readonly at: string;
  readonly operation: string;
  readonly subject: {
    readonly type: string;
    readonly id: string;
    readonly advertiserId: number;
    readonly campaignId: string;
  };
  readonly actor: string;
  readonly userId: string;
  readonly requestId: string;
  readonly status: number;
  readonly outcome: AttemptOutcome;
  readonly code: string;
  readonly field: string;
}

/** Bounds the loss when the process is killed. */
const FLUSH_MS = 500;
const RETRY_MS = 2_000;
/** Queue limit, e.g. while the database is unavailable. Further refusals are dropped and counted. */
const WAITING_MAX = 1_000;
/** Failures may use only part of the queue, so that they cannot displace denied requests. */
const WAITING_FAILED_MAX = 500;

const MINUTE_MS = 60_000;
/** Denied and failed requests count separately: repeated mistakes must not hide denied attempts. */
const PER_CREDENTIAL_MAX = 60;
const PER_ACCOUNT_MAX = 600;
/** Beyond this number of credentials per minute, the others share one counter. */
const COUNTED_MAX = 10_000;
const INT32_MAX = 2_147_483_647;
const KEPT_DAYS = 30;

/** Statuses that are logged for writes. For reads only 401 and 403 are. */
const KEPT_OF_WRITES: ReadonlySet<number> = new Set([400, 404, 409, 413, 415]);

const TRANSIENT: ReadonlySet<string> = new Set(['IDEMPOTENCY_IN_FLIGHT']);

const outcomeOf = (status: number): AttemptOutcome =>
  status === 401 || status === 403 ? 'denied' : 'failed';

const isKept = ({ route, holder, refusal }: RefusedRequest): boolean =>
  holder.customerId !== 0 &&
  !TRANSIENT.has(refusal.body.code) &&
  (outcomeOf(refusal.status) === 'denied' || (route.method !== 'get' && KEPT_OF_WRITES.has(refusal.status)));

/** An id, but not a credential that a client put into the path by mistake. */
const ID = /^(?!bx_)[\w.:/@ -]{1,128}$/;
const shownId = (text: string | undefined): string => (text !== undefined && ID.test(text) ? text : '');
const advertiserOf = (text: string | undefined): number =>
  text !== undefined && /^[1-9]\d{0,9}$/.test(text) && Number(text) <= INT32_MAX ? Number(text) : 0;

/** A statement that fails however often it is repeated (SQLSTATE classes 22 and 23). */
const isHopeless = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]/.test(error.code);

const createBudgets = (clock: Clock): ((request: RefusedRequest, outcome: AttemptOutcome) => boolean) => {
  let minute = 0;
  let counts = new Map<string, number>();
  const count = (key: string): number => {
    const counted = counts.has(key) || counts.size < COUNTED_MAX ? key : 'others';
    const next = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, next);
    return next;
  };
  return ({ holder: { actor, customerId } }, outcome) => {
    const now = Math.floor(clock.now() / MINUTE_MS);
    if (minute !== now) [minute, counts] = [now, new Map()];
    if (count(`${outcome} ${customerId} ${actor}`) > PER_CREDENTIAL_MAX) return false;
    return count(`${outcome} of ${customerId}`) <= PER_ACCOUNT_MAX;
  };
};

export const createAttemptLog = (options: AttemptLogOptions): AttemptLog => {
  const { pool, clock, log, registry, subjectOf } = options;
  const waiting: Attempt[] = [];
  const hasRoom = createBudgets(clock);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  const dropped = new Counter({
    name: 'exchange_audit_attempts_dropped_total',
    help: 'Refused requests missing from the audit log, because they were too many or the database refused them',
    registers: [registry],
  });

  /** Writes the current queue. Entries stay queued until the database has stored them. */
  const write = async (): Promise<void> => {
    const count = waiting.length;
    try {
      await insert(pool, waiting.slice(0, count));
    } catch (error) {
      if (!isHopeless(error)) throw error;
      dropped.inc(count);
      log.error({ err: error, count }, 'refused requests were dropped: the database refuses them');
    }
    waiting.splice(0, count);
  };
  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    while (writing !== undefined) await writing.catch(() => undefined);
    if (waiting.length === 0) return;
    writing = write().finally(() => {
      writing = undefined;
    });
    await writing;
  };
  const flushLater = (ms: number): void => {
    timer ??= setTimeout(() => {
      flush().catch((error: unknown) => {
        log.warn(
          { err: error, count: waiting.length },
          'refused requests could not be written; they are tried again',
        );
        flushLater(RETRY_MS);
      });
    }, ms).unref();
  };

  return {
    refused: (request) => {
      if (!isKept(request)) return;
      const outcome = outcomeOf(request.refusal.status);
      const most = outcome === 'denied' ? WAITING_MAX : WAITING_FAILED_MAX;
      if (waiting.length >= most || !hasRoom(request, outcome)) {
        dropped.inc();
        return;
      }
      waiting.push(attemptOf(request, isoTimestamp(clock.now()), subjectOf(request.route)));
      flushLater(FLUSH_MS);
    },
    flush,
  };
};

const attemptOf = (
  { route, holder, params, requestId, refusal }: RefusedRequest,
  at: string,
  subject: RouteSubject | undefined,
): Attempt => ({
  id: randomUUID(),
  customerId: holder.customerId,
  at,
  operation: route.operationId,
  subject: {
    type: subject?.resourceType ?? '',
    id: shownId(subject?.idParameter === undefined ? undefined : params[subject.idParameter]),
    advertiserId: advertiserOf(
      subject?.advertiserParameter === undefined ? undefined : params[subject.advertiserParameter],
    ),
    campaignId: shownId(
      subject?.campaignParameter === undefined ? undefined : params[subject.campaignParameter],
    ),
  },
  actor: holder.actor,
  userId: holder.user?.id ?? '',
  requestId,
  status: refusal.status,
  outcome: outcomeOf(refusal.status),
  code: refusal.body.code,
  field: refusal.body.field?.replaceAll('\0', '').slice(0, 200) ?? '',
});

const insert = async (pool: Pick<Pool, 'query'>, attempts: readonly Attempt[]): Promise<void> => {
  const texts = (of: (attempt: Attempt) => string): Buffer => textArray(attempts.map(of));
  await pool.query({
    name: 'audit-attempts-insert',
    text: `insert into audit_attempts (customer_id, occurred_at, id, operation, resource_type, resource_id,
             advertiser_id, campaign_id, actor, user_id, request_id, status, outcome, code, field)
           select customer_id, occurred_at::timestamptz, id, operation, nullif(resource_type, ''),
             nullif(resource_id, ''), nullif(advertiser_id, 0), nullif(campaign_id, ''), actor, nullif(user_id, ''),
             request_id, status, outcome, code, nullif(field, '')
           from unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[],
             $8::text[], $9::text[], $10::text[], $11::text[], $12::int[], $13::text[], $14::text[], $15::text[])
             as n(customer_id, occurred_at, id, operation, resource_type, resource_id, advertiser_id, campaign_id,
               actor, user_id, request_id, status, outcome, code, field)
           on conflict do nothing`,
    values: [
      int8Array(attempts.map(({ customerId }) => customerId)),
      texts(({ at }) => at),
      uuidArray(attempts.map(({ id }) => id)),
      texts(({ operation }) => operation),
      texts(({ subject }) => subject.type),
      texts(({ subject }) => subject.id),
      int4Array(attempts.map(({ subject }) => subject.advertiserId)),
      texts(({ subject }) => subject.campaignId),
      texts(({ actor }) => actor),
      texts(({ userId }) => userId),
      texts(({ requestId }) => requestId),
      int4Array(attempts.map(({ status }) => status)),
      texts(({ outcome }) => outcome),
      texts(({ code }) => code),
      texts(({ field }) => field),
    ],
  });
};

export const createOldAttempts = (pool: Pick<Pool, 'query'>): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'audit-attempts-old',
      text: `delete from audit_attempts a using (
               select customer_id, occurred_at, id from audit_attempts
               where occurred_at < now() - make_interval(days => $2)
               order by occurred_at limit $1 for update skip locked
             ) old
             where a.customer_id = old.customer_id and a.occurred_at = old.occurred_at and a.id = old.id`,
      values: [rowsMax, KEPT_DAYS],
    });
    return rowCount ?? 0;
  },
});
