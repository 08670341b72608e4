import { expect, it } from '@jest/globals';
import { activeTraceparent, startRequestSpan, traced, traceFields } from '../../shared/tracing/tracing.ts';

/** Without a collector. */

it('nothing is traced, and what runs gets no span', async () => {
  expect(await traced('work', {}, async (span) => [span, activeTraceparent()])).toEqual([
    undefined,
    undefined,
  ]);
  expect([startRequestSpan('GET', undefined), traceFields()]).toEqual([undefined, {}]);
});
