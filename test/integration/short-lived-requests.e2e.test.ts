import { expect, it } from '@jest/globals';
import { apiOf } from '../support/api-client.ts';
import { startMeasuredNode } from '../support/measured-node.ts';
import { startRunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const EVENTS = 10_000;
const CALLS = 4;
/** The items of a call take 2 MB. */
const OLD_GARBAGE_BYTES_MAX = 3_000_000;

/** Otherwise each item is copied twice before it is freed, and a call of duplicates takes 1.3 times the processor time. */
it('the items of a large call are freed while they are young', async () => {
  const service = await startRunningService();
  const node = await startMeasuredNode(service);
  const { api: given, apiKey } = await service.openAccount();
  const { id } = (await given.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data;
  const synced = await given.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: [{ event_source_id: 'shop' }],
  });
  expect(synced.status).toBe(200);
  const api = apiOf(node.baseUrl, { Authorization: `Bearer ${apiKey}` });
  const eventTime = new Date().toISOString();
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    eventId: `order-number-${n}`,
    eventTime,
    value: 12.5,
  }));
  const logOften = async (calls: number): Promise<void> => {
    for (let call = 0; call < calls; call += 1) {
      // On a busy machine the answer may come too late.
      await until(async () => {
        const answer = await api.post('/event-sources/shop/events', { events, advertiserId: id });
        return answer.status === 200;
      });
    }
  };
  try {
    // Also compiles what the calls need.
    await logOften(20);
    await node.measure();
    await logOften(CALLS);
    const { oldGarbageBytes } = await node.measure();
    console.log(`${oldGarbageBytes} bytes`);
    expect(oldGarbageBytes).toBeLessThan(OLD_GARBAGE_BYTES_MAX);
  } finally {
    await node.end();
    await service.stop();
  }
}, 120_000);
