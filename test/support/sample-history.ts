import { randomUUID } from 'node:crypto';
import type { EventStore, NewEvent } from '../../shared/event-store/event-store.ts';

const ACCOUNTS = 40;
const STREAMS_EACH = 12;
/** Numbers of events in successive appends. */
const SIZES = [1, 1, 3, 1, 7] as const;

/** Appends about `count` events to streams of many accounts in mixed order, as a busy installation does. */
export const fillWithHistory = async (store: EventStore, count: number): Promise<void> => {
  const revisions = new Map<string, number>();
  for (let done = 0, round = 0; done < count; round += 1) {
    const size = SIZES[round % SIZES.length] ?? 1;
    await Promise.all(
      Array.from({ length: ACCOUNTS }, async (_, account) => {
        const stream = `sample-${account}-${(round * 5 + account) % STREAMS_EACH}`;
        const last = revisions.get(stream) ?? -1;
        revisions.set(stream, last + size);
        const events = Array.from({ length: size }, (__, n) => eventOf(account + 1, last + 1 + n));
        await store.append(stream, events, last < 0 ? 'no-stream' : last);
      }),
    );
    done += size * ACCOUNTS;
  }
};

const eventOf = (customerId: number, n: number): NewEvent => ({
  id: randomUUID(),
  type: n === 0 ? 'SampleStarted' : 'SampleChanged',
  data: { n, text: 'grüezi 👋 \u0000 \ud800', nested: { list: [1.5, null, true], '10': 'ten', a: {} } },
  metadata: {
    customerId,
    actor: 'operator',
    requestId: `request-${n}`,
    correlationId: 'correlation',
    causationId: 'causation',
    occurredAt: '2026-01-02T03:04:05.678Z',
    schemaVersion: 1,
  },
});
