import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Pool } from 'pg';
import { createAttemptLog } from '../../command/audit/attempt-log.ts';
import { ApiError, notFound, type ErrorCode } from '../../shared/http/errors.ts';
import { anonymous, type Holder } from '../../shared/http/principal.ts';
import type { RefusedRequest } from '../../shared/http/route-handler.ts';
import type { Route } from '../../shared/http/route.ts';
import { createLog } from '../../app/log.ts';

const somebody: Holder = { customerId: 7, actor: 'api-key:k' };
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
  holder: somebody,
  params: { id: '1' },
  requestId: 'r',
  refusal: notFound('thing'),
  ...more,
});
const withCode = (code: ErrorCode) => ({ refusal: new ApiError({ code, message: 'x' }) });

const setting = () => {
  const statements: { rows: number; text: string }[] = [];
  let nowMs = 0;
  const registry = new Registry();
  const log = createAttemptLog({
    pool: {
      query: async ({ values }: { values: readonly Buffer[] }) => {
        // The number of elements stands in the header of an array in Postgres' binary format.
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
    (await registry.getSingleMetric('audit_attempts_dropped_total')?.get())?.values[0]?.value;
  return { log, statements, dropped, at: (ms: number) => (nowMs = ms) };
};

it('keeps what was refused to somebody, in one statement; not reads that found nothing, nor what is to be repeated', async () => {
  const { log, statements } = setting();
  const read: Route = { ...route, method: 'get' };
  const kept = [
    {},
    withCode('VALIDATION_ERROR'),
    withCode('CONFLICT'),
    { route: read, ...withCode('FORBIDDEN') },
  ];
  const left = [
    { holder: anonymous },
    { route: read },
    withCode('RATE_LIMITED'),
    withCode('SERVICE_UNAVAILABLE'),
    withCode('IDEMPOTENCY_IN_FLIGHT'),
  ];
  for (const one of [...kept, ...left]) log.refused(refusedBy(one));
  await log.flush();
  await log.flush();
  expect(statements.map(({ rows }) => rows)).toEqual([kept.length]);
});

it('keeps 60 of a credential in a minute, and counts what it drops', async () => {
  const { log, statements, dropped, at } = setting();
  for (let n = 0; n < 65; n += 1) log.refused(refusedBy());
  log.refused(refusedBy({ holder: { ...somebody, customerId: 8 } }));
  at(60_000);
  log.refused(refusedBy());
  await log.flush();
  expect([statements.map(({ rows }) => rows), await dropped()]).toEqual([[62], 5]);
});

it('of a path it keeps what can be an id, and no credential that went astray', async () => {
  const { log, statements } = setting();
  for (const id of ['cmp_1', 'bx_abcdefghijklmnop_secret', 'a\0b', 'x'.repeat(200)]) {
    log.refused(refusedBy({ params: { id } }));
  }
  await log.flush();
  expect(statements[0]?.text).toContain('cmp_1');
  expect(statements[0]?.text).not.toMatch(/bx_|a\0b|xxx/);
});
