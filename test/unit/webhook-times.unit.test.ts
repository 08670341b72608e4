import { describe, expect, it } from '@jest/globals';
import { healthStep } from '../../domain/webhooks/endpoint-health.ts';
import { nextAttemptMs } from '../../domain/webhooks/retry-times.ts';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000] as const;

describe('attempts of a delivery', () => {
  it('are ten, within 75 h 35 min 5 s', () => {
    const delays = Array.from({ length: 10 }, (_, attempts) => nextAttemptMs(attempts, 0, 0.5));
    expect(delays).toEqual([
      0,
      5 * SECOND,
      5 * MINUTE,
      30 * MINUTE,
      2 * HOUR,
      5 * HOUR,
      10 * HOUR,
      14 * HOUR,
      20 * HOUR,
      24 * HOUR,
    ]);
    const sum = delays.reduce((total = 0, delay = 0) => total + delay, 0);
    expect(sum).toBe(75 * HOUR + 35 * MINUTE + 5 * SECOND);
    expect(nextAttemptMs(10, 0, 0.5)).toBeUndefined();
  });

  it('are spread by a fifth in both directions', () => {
    expect([nextAttemptMs(4, 0, 0), nextAttemptMs(4, 0, 1)]).toEqual([1.6 * HOUR, 2.4 * HOUR]);
  });

  it('wait as long as the endpoint asks for, at most a day', () => {
    expect(nextAttemptMs(1, 90 * SECOND, 0.5)).toBe(90 * SECOND);
    expect(nextAttemptMs(5, 90 * SECOND, 0.5)).toBe(5 * HOUR);
    expect(nextAttemptMs(1, 1_000 * HOUR, 0.5)).toBe(24 * HOUR);
    expect(nextAttemptMs(10, 90 * SECOND, 0.5)).toBeUndefined();
  });
});

describe('an endpoint without a success', () => {
  const step = (hours: number, notices: number) => healthStep({ failingMs: hours * HOUR, notices });

  it('leads to a notice after one day and after three, each once', () => {
    expect(step(23, 0)).toEqual({ notice: undefined, isHopeless: false, nextMs: HOUR });
    expect(step(24, 0)).toEqual({ notice: 1, isHopeless: false, nextMs: 48 * HOUR });
    expect(step(30, 1)).toEqual({ notice: undefined, isHopeless: false, nextMs: 42 * HOUR });
    expect(step(72, 1)).toEqual({ notice: 2, isHopeless: false, nextMs: 48 * HOUR });
    // Only the last one, if the service was down meanwhile.
    expect(step(80, 0)).toEqual({ notice: 2, isHopeless: false, nextMs: 40 * HOUR });
  });

  it('is hopeless after five days', () => {
    expect(step(119, 2)).toEqual({ notice: undefined, isHopeless: false, nextMs: HOUR });
    expect(step(120, 2)).toEqual({ notice: undefined, isHopeless: true, nextMs: undefined });
  });
});
