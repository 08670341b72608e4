import type { StreamingRead } from '@eventstore/db-client';
import { SilentServerError } from './failure.ts';

/**
 * All events of a call with a limit, or those up to the first one for which `isEnough` is true. The call is always drained
 * or cancelled: an abandoned one would stay open, and stop the client from ending. Reads have no deadline of their own.
 * @throws SilentServerError after `withinMs`, or what the client throws
 */
export const collect = <E>(
  call: StreamingRead<E>,
  withinMs: number,
  isEnough: (event: E) => boolean = () => false,
): Promise<E[]> =>
  new Promise((resolve, reject) => {
    const events: E[] = [];
    const fail = (error: Error): void => {
      clearTimeout(timer);
      abandon(call);
      reject(error);
    };
    const timer = setTimeout(
      () => fail(new SilentServerError(`not read within ${Math.round(withinMs)} ms`)),
      withinMs,
    );
    // At once, and for good: an error without a listener ends the process, even "stream not found".
    call
      .on('error', fail)
      .on('data', (event: E) => {
        events.push(event);
        try {
          if (!isEnough(event)) return;
        } catch (error) {
          return fail(error as Error);
        }
        clearTimeout(timer);
        resolve(events);
        abandon(call);
      })
      .on('close', () => fail(new Error('the read was closed before its end')))
      .on('end', () => {
        clearTimeout(timer);
        resolve(events);
      });
  });

const abandon = (call: StreamingRead<unknown>): void => {
  call.cancel().catch(() => undefined);
  call.destroy();
};
