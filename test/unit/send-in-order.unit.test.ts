import { describe, expect, it } from '@jest/globals';
import type { ClientBase, QueryConfig } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { inPieces, sendInOrder } from '../../projections/engine/send-in-order.ts';

/** A client whose statements take a while; it writes down when each begins and ends. */
const recordingClient = (said: string[], failing?: string): ClientBase => {
  const query = async ({ text }: QueryConfig): Promise<void> => {
    said.push(`begin ${text}`);
    await pause(5);
    said.push(`end ${text}`);
    if (text === failing) throw new Error(`${text} failed`);
  };
  return { query } as unknown as ClientBase;
};

function* building(said: string[], last?: Error): Generator<QueryConfig> {
  for (const text of ['a', 'b']) {
    said.push(`build ${text}`);
    yield { text };
  }
  if (last !== undefined) throw last;
}

const IN_ORDER = ['build a', 'begin a', 'build b', 'end a', 'begin b', 'end b'];

describe('statements in order', () => {
  it('builds each while the one before it is executed', async () => {
    const said: string[] = [];
    await sendInOrder(recordingClient(said), building(said));
    expect(said).toEqual(IN_ORDER);
  });

  it('sends nothing after a failure', async () => {
    const said: string[] = [];
    await expect(sendInOrder(recordingClient(said, 'a'), building(said))).rejects.toThrow('a failed');
    expect(said).toEqual(['build a', 'begin a', 'build b', 'end a']);
  });

  it('has no statement in progress when building fails', async () => {
    const said: string[] = [];
    const failure = sendInOrder(recordingClient(said), building(said, new Error('not built')));
    await expect(failure).rejects.toThrow('not built');
    expect(said).toEqual(IN_ORDER);
  });

  it('cuts rows into pieces, each row once', () => {
    const rows = Array.from({ length: 1_001 }, (_, n) => n);
    const pieces = [...inPieces(rows)];
    expect(pieces.map(({ length }) => length)).toEqual([500, 500, 1]);
    expect(pieces.flat()).toEqual(rows);
  });
});
