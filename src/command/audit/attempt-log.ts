import type { Pool } from 'pg';
import { Counter, type Registry } from 'prom-client';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import type { RefusedRequest } from '../../shared/http/route-handler.ts';
import type { Route } from '../../shared/http/route.ts';
import { randomId } from '../../shared/ids.ts';
import type { Logger } from '../../shared/log.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import type { Purgeable } from '../../shared/purge-regularly.ts';

/** Which thing a route is about, and which parameters of its path say so. */
export interface RouteSubject {
  readonly resourceType: AuditedResource;
  readonly idParameter: string;
  /** Absent: its path names no advertiser. */
  readonly advertiserParameter?: string;
}

export interface AttemptLogOptions {
  readonly pool: Pick<Pool, 'query'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Undefined for routes that are about no one thing. */
  readonly subjectOf: (route: Route) => RouteSubject | undefined;
}

/** What was refused, kept for the audit log. */
export interface AttemptLog {
  /** Costs no wait: it is written down a moment later. */
  refused(request: RefusedRequest): void;
  /** Writes down what is not written yet. */
  flush(): Promise<void>;
}

interface Attempt {
  readonly customerId: number;
  readonly at: string;
  readonly operation: string;
  readonly subject: { readonly type: string; readonly id: string; readonly advertiserId: number };
  readonly actor: string;
  readonly userId: string;
  readonly requestId: string;
  readonly status: number;
  readonly code: string;
  readonly field: string;
}

/** Lost at most, when the process ends without a word. */
const FLUSH_MS = 500;
/** Waiting to be written, while the database is away, say: more are dropped, and counted. */
const WAITING_MAX = 1_000;
/** Of one account in a minute, in this process: whoever is refused more often is told so by each answer. */
const PER_MINUTE_MAX = 60;
const MINUTE_MS = 60_000;
const KEPT_DAYS = 30;

/** Refusals of writes that say something of who tried; being refused a read by what one may do is one, too. */
const KEPT_OF_WRITES: ReadonlySet<number> = new Set([400, 404, 409]);

/** The client was told to ask again, and does. */
const TRANSIENT: ReadonlySet<string> = new Set(['IDEMPOTENCY_IN_FLIGHT']);

const isKept = ({ route, principal, refusal }: RefusedRequest): boolean =>
  principal.customerId !== 0 &&
  !TRANSIENT.has(refusal.body.code) &&
  (refusal.status === 403 || (route.method !== 'get' && KEPT_OF_WRITES.has(refusal.status)));

/** What looks like an id, and not like a credential that went astray into a path. */
const ID = /^(?!bx_)[\w.:/@ -]{1,128}$/;
const shownId = (text: string | undefined): string => (text !== undefined && ID.test(text) ? text : '');
const advertiserOf = (text: string | undefined): number =>
  text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;

export const createAttemptLog = (options: AttemptLogOptions): AttemptLog => {
  const { pool, clock, log, registry, subjectOf } = options;
  let waiting: Attempt[] = [];
  let timer: NodeJS.Timeout | undefined;
  let counted = { minute: 0, byAccount: new Map<number, number>() };
  const dropped = new Counter({
    name: 'audit_attempts_dropped_total',
    help: 'Refused requests that the audit log does not have, because there were too many',
    registers: [registry],
  });

  /** Whether the account has room in this minute. */
  const hasRoom = (customerId: number): boolean => {
    const minute = Math.floor(clock.now() / MINUTE_MS);
    if (counted.minute !== minute) counted = { minute, byAccount: new Map() };
    const count = (counted.byAccount.get(customerId) ?? 0) + 1;
    counted.byAccount.set(customerId, count);
    return count <= PER_MINUTE_MAX;
  };

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const attempts = waiting;
    waiting = [];
    if (attempts.length > 0) await insert(pool, attempts);
  };

  return {
    refused: (request) => {
      if (!isKept(request)) return;
      if (waiting.length >= WAITING_MAX || !hasRoom(request.principal.customerId)) {
        dropped.inc();
        return;
      }
      waiting.push(attemptOf(request, isoTimestamp(clock.now()), subjectOf(request.route)));
      timer ??= setTimeout(() => {
        flush().catch((error: unknown) => log.warn({ err: error }, 'refused requests were not written down'));
      }, FLUSH_MS).unref();
    },
    flush,
  };
};

const attemptOf = (
  { route, principal, params, requestId, refusal }: RefusedRequest,
  at: string,
  subject: RouteSubject | undefined,
): Attempt => ({
  customerId: principal.customerId,
  at,
  operation: route.operationId,
  subject: {
    type: subject?.resourceType ?? '',
    id: shownId(subject && params[subject.idParameter]),
    advertiserId: advertiserOf(
      subject?.advertiserParameter === undefined ? undefined : params[subject.advertiserParameter],
    ),
  },
  actor: principal.actor,
  userId: principal.user?.id ?? '',
  requestId,
  status: refusal.status,
  code: refusal.body.code,
  field: refusal.body.field?.replaceAll('\0', '').slice(0, 200) ?? '',
});

const insert = async (pool: Pick<Pool, 'query'>, attempts: readonly Attempt[]): Promise<void> => {
  const texts = (of: (attempt: Attempt) => string): Buffer => textArray(attempts.map(of));
  await pool.query({
    name: 'audit-attempts-insert',
    text: `insert into audit_attempts (customer_id, occurred_at, id, operation, resource_type, resource_id,
             advertiser_id, actor, user_id, request_id, status, code, field)
           select customer_id, occurred_at::timestamptz, id, operation, nullif(resource_type, ''),
             nullif(resource_id, ''), nullif(advertiser_id, 0), actor, nullif(user_id, ''), request_id, status,
             code, nullif(field, '')
           from unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[],
             $8::text[], $9::text[], $10::text[], $11::int[], $12::text[], $13::text[])
             as n(customer_id, occurred_at, id, operation, resource_type, resource_id, advertiser_id, actor, user_id,
               request_id, status, code, field)`,
    values: [
      int8Array(attempts.map(({ customerId }) => customerId)),
      texts(({ at }) => at),
      uuidArray(attempts.map(() => randomId())),
      texts(({ operation }) => operation),
      texts(({ subject }) => subject.type),
      texts(({ subject }) => subject.id),
      int4Array(attempts.map(({ subject }) => subject.advertiserId)),
      texts(({ actor }) => actor),
      texts(({ userId }) => userId),
      texts(({ requestId }) => requestId),
      int4Array(attempts.map(({ status }) => status)),
      texts(({ code }) => code),
      texts(({ field }) => field),
    ],
  });
};

/** Attempts that are older than they are kept. */
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
