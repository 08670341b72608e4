import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Pool } from 'pg';
import { createAttemptLog } from '../../command/audit/attempt-log.ts';
import { ApiError, notFound, type ErrorCode } from '../../shared/http/errors.ts';
import { anonymous, type Holder } from '../../shared/http/principal.ts';
import type { RefusedRequest } from '../../shared/http/route-handler.ts';
import type { Route } from '../../shared/http/route.ts';
import { createLog } from '../../app/log.ts';

const holder: Holder = { customerId: 7, actor: 'api-key:k' };
const route: Route = {
  method: 'put',
  path: '/things/{id}',
  operationId: 'updateThing',
  summary: '',
  tag: '',
  access: 'exchange:write',
  responses: {},
  handle: async () => ({ status: 204 }),
};

const refusedBy = (more: Partial<RefusedRequest> = {}): RefusedRequest => ({
  route,
  holder,
  params: { id: '1' },
  requestId: 'r',
  refusal: notFound('thing'),
  ...more,
});
const withCode = (code: ErrorCode) => ({ refusal: new ApiError({ code, message: 'x' }) });

const openLog = () => {
  const statements: { rows: number; text: string }[] = [];
  let nowMs = 0;
  const registry = new Registry();
  const log = createAttemptLog({
    pool: {
      query: async ({ values }: { values: readonly Buffer[] }) => {
        // The header of an array in Postgres' binary format contains the number of elements.
        statements.push({ rows: values[0]?.readInt32BE(12) ?? 0, text: String(values[5]) });
        return { rows: [] };
      },
    } as unknown as Pool,
    clock: { now: () => nowMs },
    log: createLog('silent'),
    registry,
    subjectOf: () => ({ resourceType: 'TASK', idParameter: 'id' }),
  });
  const dropped = async () =>
    (await registry.getSingleMetric('exchange_audit_attempts_dropped_total')?.get())?.values[0]?.value;
  return { log, statements, dropped, at: (ms: number) => (nowMs = ms) };
};

it('records refusals of an authenticated client in one statement, except reads that found nothing and temporary refusals', async () => {
  const { log, statements } = openLog();
  const read: Route = { ...route, method: 'get' };
  const recorded = [
    {},
    withCode('VALIDATION_ERROR'),
    withCode('CONFLICT'),
    { route: read, ...withCode('FORBIDDEN') },
  ];
  const ignored = [
    { holder: anonymous },
    { route: read },
    withCode('RATE_LIMITED'),
    withCode('SERVICE_UNAVAILABLE'),
    withCode('IDEMPOTENCY_IN_FLIGHT'),
  ];
  for (const one of [...recorded, ...ignored]) log.refused(refusedBy(one));
  await log.flush();
  await log.flush();
  expect(statements.map(({ rows }) => rows)).toEqual([recorded.length]);
});

it('records 60 refusals per credential and minute, and counts the dropped ones', async () => {
  const { log, statements, dropped, at } = openLog();
  for (let n = 0; n < 65; n += 1) log.refused(refusedBy());
  log.refused(refusedBy({ holder: { ...holder, customerId: 8 } }));
  at(60_000);
  log.refused(refusedBy());
  await log.flush();
  expect([statements.map(({ rows }) => rows), await dropped()]).toEqual([[62], 5]);
});

it('records a path parameter if it can be an id, never if it looks like a credential', async () => {
  const { log, statements } = openLog();
  for (const id of ['cmp_1', 'bx_abcdefghijklmnop_secret', 'a\0b', 'x'.repeat(200)]) {
    log.refused(refusedBy({ params: { id } }));
  }
  await log.flush();
  expect(statements[0]?.text).toContain('cmp_1');
  expect(statements[0]?.text).not.toMatch(/bx_|a\0b|xxx/);
});
