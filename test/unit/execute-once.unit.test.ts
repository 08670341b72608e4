import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { ApiError } from '../../shared/http/errors.ts';
import { createExecuteOnce } from '../../shared/http/execute-once.ts';
import type { IdempotencyStore } from '../../shared/idempotency/idempotency-store.ts';

const request = { scope: '1', key: 'a-key-of-16-chars', fingerprint: Buffer.alloc(32), reserved: {} };
const refuse = async (): Promise<never> => {
  throw new ApiError({ code: 'NOT_FOUND', message: 'No such advertiser.' });
};

/** How the key is settled when the claimed run is refused. */
const settledAs = async (isFirst: boolean): Promise<readonly string[]> => {
  const settled: string[] = [];
  const store: IdempotencyStore = {
    claim: async () => ({ outcome: 'claimed', lease: 'mine', isFirst, commandId: 'command', reserved: {} }),
    complete: async () => void settled.push('completed'),
    release: async () => void settled.push('released'),
    lapse: async () => void settled.push('lapsed'),
    isHeld: async () => true,
    purge: async () => 0,
  };
  await expect(createExecuteOnce(store, pino({ level: 'silent' }))(request, refuse)).rejects.toThrow(
    'No such advertiser.',
  );
  return settled;
};

describe('a refusal', () => {
  it('frees a key that was claimed for the first time', async () => {
    expect(await settledAs(true)).toEqual(['released']);
  });

  it('keeps the command of the key if an earlier run may still append, so no later claim counts as the first', async () => {
    expect(await settledAs(false)).toEqual(['lapsed']);
  });
});
