import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { errorText, isFaultOfEvent } from '../../projections/engine/projection-failure.ts';
import { UnprojectableEventError } from '../../projections/engine/projection.ts';
import type { Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { toyEvent } from '../support/toy-projection.ts';

const sql = (code: string): DatabaseError =>
  Object.assign(new DatabaseError('message', 0, 'error'), { code });

const recorded: RecordedEvent = {
  ...toyEvent(1),
  stream: 'toy-1-1',
  revision: 0,
  position: '0000000000000001' as Position,
  recordedAt: '2025-01-01T00:00:00.000Z',
};

describe('the cause of a failure', () => {
  it.each([
    '21000',
    '22001',
    '22P02',
    '22P05',
    '23502',
    '23505',
    '23514',
    '44000',
    '54000',
    '54001',
    'P0001',
  ])('SQLSTATE %s: the event', (code) => expect(isFaultOfEvent(sql(code))).toBe(true));

  it.each([
    '08006',
    '25006',
    '25P03',
    '26000',
    '28P01',
    '40001',
    '40P01',
    '42501',
    '42P01',
    '53100',
    '53300',
    '55P03',
    '57014',
    '57P01',
    '57P03',
    '58030',
    'XX001',
  ])('SQLSTATE %s: not the event', (code) => expect(isFaultOfEvent(sql(code))).toBe(false));

  it.each([
    new UnprojectableEventError(recorded, 'unknown type'),
    new TypeError("Cannot read properties of undefined (reading 'x')"),
    new RangeError('Invalid time value'),
    Object.assign(new TypeError('The "string" argument must be of type string'), {
      code: 'ERR_INVALID_ARG_TYPE',
    }),
    Object.assign(new Error('Cannot create a string longer than 0x1fffffe8'), {
      code: 'ERR_STRING_TOO_LONG',
    }),
    'a string',
  ])('%s: the event', (error) => expect(isFaultOfEvent(error)).toBe(true));

  it.each([
    Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
    Object.assign(new Error('Cannot call write after a stream was destroyed'), {
      code: 'ERR_STREAM_DESTROYED',
    }),
    Object.assign(new Error('Socket is closed'), { code: 'ERR_SOCKET_CLOSED' }),
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated due to connection timeout'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Client was closed and is not queryable'),
    new Error('timeout exceeded when trying to connect'),
    new Error('Query read timeout'),
    new Error('Cannot use a pool after calling end on the pool'),
  ])('%s: not the event', (error) => expect(isFaultOfEvent(error)).toBe(false));
});

it('keeps an error text short and storable', () => {
  expect(errorText(new Error('a\0b'))).toBe('Error: a b');
  expect(errorText(new Error('x'.repeat(2_000)))).toHaveLength(500);
});
