import { expect, it } from '@jest/globals';
import type { ClientBase } from 'pg';
import { endWhenInTheWay } from '../../projections/engine/copy/cancel-statements.ts';

/** A server where somebody waited for a table, until the one connection that read it was cancelled. */
const guardOf = (onTold: (count: number) => void): Pick<ClientBase, 'query'> => {
  let told = 0;
  const query = async (text: string) => {
    const isOnlyInTheWay = text.includes('pg_locks');
    if (isOnlyInTheWay && told > 0) return { rowCount: 0 };
    onTold((told += 1));
    return { rowCount: 1 };
  };
  return { query } as never;
};

it('who was between two statements when a table was wanted is told again, until it is over', async () => {
  let count = 0;
  let again: (() => void) | undefined;
  const toldAgain = new Promise<void>((resolve) => (again = resolve));
  const { inTheWay, stop } = endWhenInTheWay(
    guardOf((told) => {
      count = told;
      if (told >= 3) again?.();
    }),
    'advertisers',
  );
  expect(inTheWay.aborted).toBe(false);
  await toldAgain;
  expect(inTheWay.aborted).toBe(true);
  await stop();
  const ended = count;
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(count).toBe(ended);
});

it('nobody is told while nobody waits', async () => {
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
