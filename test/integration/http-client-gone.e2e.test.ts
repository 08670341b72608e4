import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sleep } from '../../shared/async/backoff.ts';
import { ClientGoneError } from '../../shared/http/errors.ts';
import { route } from '../../shared/http/route.ts';
import { envelopeOf, toyClient } from '../support/toy-client.ts';
import { startToyService, type ToyService } from '../support/toy-service.ts';
import { until } from '../support/until.ts';

const read = (path: string) =>
  ({
    method: 'get',
    path,
    summary: 'A read',
    tag: 'Toys',
    access: 'public',
    responses: { 200: { description: 'Nothing', data: z.null() } },
  }) as const;

let reading = 0;
let stopped = 0;
const lasting = route({
  ...read('/lasting'),
  operationId: 'getLasting',
  handle: async ({ request }) => {
    reading += 1;
    while (!request.isClientGone()) await sleep(2);
    stopped += 1;
    throw new ClientGoneError();
  },
});
const present = route({
  ...read('/present'),
  operationId: 'getPresent',
  refusedQuery: { asOf: 'There is no past here.' },
  handle: async () => ({ status: 200, data: null }),
});

let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService({ routes: [lasting, present] });
});
afterAll(() => toys.server.drain());

const { call } = toyClient(() => toys);
const errors = () => toys.logLines.filter(({ level }) => Number(level) >= 40);

it('a read ends when its client disconnects, without an error in the log', async () => {
  const leaving = new AbortController();
  const answer = fetch(`${toys.url}/lasting`, { signal: leaving.signal });
  await until(async () => reading === 1, 60_000);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await until(async () => stopped === 1, 60_000);
  await until(async () => toys.logLines.some(({ route: path }) => path === '/lasting'), 60_000);
  expect(errors()).toEqual([]);
}, 120_000);

it('a read ends when its request was answered at its deadline', async () => {
  const answer = await call('GET', '/lasting');
  expect(answer.status).toBe(503);
  await until(async () => stopped === 2, 60_000);
  expect(errors().filter(({ msg }) => msg === 'failed after it was answered 503')).toEqual([]);
}, 120_000);

it('a parameter that a route refuses is 400; unknown ones are ignored', async () => {
  expect((await call('GET', '/present?other=1')).status).toBe(200);
  const refused = await call('GET', '/present?other=1&asOf=2026-01-01');
  expect([refused.status, (await envelopeOf(refused)).error]).toMatchObject([
    400,
    { code: 'VALIDATION_ERROR', field: 'asOf', message: 'asOf: There is no past here. Leave it out.' },
  ]);
});
