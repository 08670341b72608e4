import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createInFlight } from '../../command/workers/webhooks/in-flight.ts';

const bounds = { atOnceMax: 6, perAccountMax: 4, probesMax: 2 };

const open = () => {
  const inFlight = createInFlight(bounds);
  const held: { readonly customerId: number; readonly isProbe: boolean; readonly end: () => void }[] = [];
  const hold = (customerId: number, isProbe = false): Promise<void> =>
    inFlight.hold(
      customerId,
      isProbe,
      () => new Promise<void>((end) => held.push({ customerId, isProbe, end })),
    );
  return { held, hold };
};
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('requests in flight', () => {
  it('of an account, or of slow endpoints, hold back no others', async () => {
    const { held, hold } = open();
    for (let n = 0; n < 10; n += 1) void hold(1);
    for (let n = 0; n < 10; n += 1) void hold(2, true);
    await turn();
    expect(held.map(({ customerId, isProbe }) => [customerId, isProbe])).toEqual([
      ...Array.from({ length: 4 }, () => [1, false]),
      [2, true],
      [2, true],
    ]);
    void hold(3);
    held[0]?.end();
    await turn();
    // The account's own next one was there first.
    expect(held.at(-1)?.customerId).toBe(1);
  });

  it('never exceed a bound, and all come to an end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            customerId: fc.integer({ min: 1, max: 3 }),
            isProbe: fc.boolean(),
            ends: fc.boolean(),
          }),
          {
            maxLength: 60,
          },
        ),
        async (steps) => {
          const { held, hold } = open();
          const all: Promise<void>[] = [];
          const ended = new Set<(typeof held)[number]>();
          const now = () => held.filter((one) => !ended.has(one));
          const check = (): void => {
            expect(now().length).toBeLessThanOrEqual(bounds.atOnceMax);
            expect(now().filter(({ isProbe }) => isProbe).length).toBeLessThanOrEqual(bounds.probesMax);
            for (const id of [1, 2, 3]) {
              const own = now().filter(({ customerId }) => customerId === id).length;
              expect(own).toBeLessThanOrEqual(bounds.perAccountMax);
            }
          };
          const endFirst = async (): Promise<void> => {
            const [first] = now();
            if (first === undefined) return;
            ended.add(first);
            first.end();
            await turn();
          };
          for (const { customerId, isProbe, ends } of steps) {
            all.push(hold(customerId, isProbe));
            await turn();
            check();
            if (ends) await endFirst();
            check();
          }
          while (now().length > 0) await endFirst();
          await Promise.all(all);
          expect(held.length).toBe(steps.length);
        },
      ),
      { numRuns: 50 },
    );
  });
});
