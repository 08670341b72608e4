import { describe, expect, it } from '@jest/globals';
import type { ClientBase, QueryConfig } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { inPieces, sendInOrder } from '../../projections/engine/send-in-order.ts';

/** Logs when each statement begins and ends. */
const recordingClient = (log: string[], failing?: string): ClientBase => {
  const query = async ({ text }: QueryConfig): Promise<string> => {
    log.push(`begin ${text}`);
    await pause(5);
    log.push(`end ${text}`);
    if (text === failing) throw new Error(`${text} failed`);
    return `result of ${text}`;
  };
  return { query } as unknown as ClientBase;
};

function* buildStatements(log: string[], last?: Error): Generator<QueryConfig> {
  for (const text of ['a', 'b']) {
    log.push(`build ${text}`);
    yield { text };
  }
  if (last !== undefined) throw last;
}

const IN_ORDER = ['build a', 'begin a', 'build b', 'end a', 'begin b', 'end b'];

describe('statements in order', () => {
  it('builds each statement while the previous one is executed, and returns the results in this order', async () => {
    const log: string[] = [];
    const results = await sendInOrder(recordingClient(log), buildStatements(log));
    expect(log).toEqual(IN_ORDER);
    expect(results).toEqual(['result of a', 'result of b']);
  });

  it('sends nothing after a failure', async () => {
    const log: string[] = [];
    await expect(sendInOrder(recordingClient(log, 'a'), buildStatements(log))).rejects.toThrow('a failed');
    expect(log).toEqual(['build a', 'begin a', 'build b', 'end a']);
  });

  it('has no statement in progress when building fails', async () => {
    const log: string[] = [];
    const failure = sendInOrder(recordingClient(log), buildStatements(log, new Error('not built')));
    await expect(failure).rejects.toThrow('not built');
    expect(log).toEqual(IN_ORDER);
  });

  it('divides rows into pieces, each row once', () => {
    const rows = Array.from({ length: 1_001 }, (_, n) => n);
    const pieces = [...inPieces(rows)];
    expect(pieces.map(({ length }) => length)).toEqual([500, 500, 1]);
    expect(pieces.flat()).toEqual(rows);
  });
});
