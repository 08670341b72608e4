import { expect, it } from '@jest/globals';
import type { ClientBase } from 'pg';
import { endWhenInTheWay } from '../../projections/engine/copy/cancel-statements.ts';

/** A server on which another session waits for a table until the first cancellation of the session that reads it. */
const guardOf = (onCancelled: (count: number) => void): Pick<ClientBase, 'query'> => {
  let cancelled = 0;
  const query = async (text: string) => {
    const isQuestion = text.includes('pg_locks');
    if (isQuestion && cancelled > 0) return { rowCount: 0 };
    onCancelled((cancelled += 1));
    return { rowCount: 1 };
  };
  return { query } as never;
};

it('a session that was between two statements is cancelled repeatedly until it ends', async () => {
  let count = 0;
  let again: (() => void) | undefined;
  const cancelledAgain = new Promise<void>((resolve) => (again = resolve));
  const { inTheWay, stop } = endWhenInTheWay(
    guardOf((cancelled) => {
      count = cancelled;
      if (cancelled >= 3) again?.();
    }),
    'advertisers',
  );
  expect(inTheWay.aborted).toBe(false);
  await cancelledAgain;
  expect(inTheWay.aborted).toBe(true);
  await stop();
  const ended = count;
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(count).toBe(ended);
});

it('a session is not cancelled while no other session waits', async () => {
  const asked: string[] = [];
  const query = async (text: string) => {
    asked.push(text);
    return { rowCount: 0 };
  };
  const { inTheWay, stop } = endWhenInTheWay({ query } as never, 'advertisers');
  while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  await stop();
  expect(inTheWay.aborted).toBe(false);
  expect(asked.every((text) => text.includes('pg_locks'))).toBe(true);
});
