import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { createLogLevel } from '../../shared/operator/log-level.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('given a change for ten seconds, then the log and its children have the level of the start after them', () => {
  const log = pino({ level: 'warn', enabled: true });
  const logLevel = createLogLevel(log);
  const child = log.child({ projection: 'toys' });
  const levels = (): readonly string[] => [log.level, child.level, child.child({}).level];
  expect(levels()).toEqual(['warn', 'warn', 'warn']);
  logLevel.change('debug', 10);
  expect(levels()).toEqual(['debug', 'debug', 'debug']);
  jest.advanceTimersByTime(9_000);
  // A second change begins its own time.
  logLevel.change('info', 10);
  jest.advanceTimersByTime(9_000);
  expect(levels()).toEqual(['info', 'info', 'info']);
  jest.advanceTimersByTime(1_000);
  expect(levels()).toEqual(['warn', 'warn', 'warn']);
  expect(logLevel.state()).toEqual({ level: 'warn' });
});
