import type { StreamingRead } from '@eventstore/db-client';
import { SilentServerError } from './failure.ts';

/** Reads have no deadline: an open call would keep the client from ending. @throws SilentServerError */
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
    // Never removed: an unhandled error, even "stream not found", would end the process.
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
