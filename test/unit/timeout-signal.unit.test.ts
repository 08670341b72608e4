import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { timeoutSignal } from '../../shared/async/timeout.ts';

it('a timeout that only a combination of signals refers to survives the garbage collector', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  let isOver = false;
  AbortSignal.any([timeoutSignal(300), new AbortController().signal]).addEventListener('abort', () => {
    isOver = true;
  });
  for (let n = 0; n < 10; n++) {
    await sleep(20);
    collectGarbage();
  }
  await sleep(1_000);
  expect(isOver).toBe(true);
});
