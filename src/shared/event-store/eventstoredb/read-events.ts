import type { StreamingRead } from '@eventstore/db-client';
import { SilentServerError } from './failure.ts';

/**
 * The events of one call, in the reader's own time. The call is always drained or cancelled, however the reader
 * ends: an abandoned one would stay open, and stop the client from ending.
 * @param silenceMs how long the server may keep the reader waiting for the next event; reads have no deadline
 * @throws SilentServerError, or what the client throws
 */
export const eventsOf = <E>(call: StreamingRead<E>, silenceMs: number): AsyncGenerator<E> => {
  // At once: an error without a listener ends the process, even "stream not found".
  call.on('error', () => undefined);
  return follow(call, silenceMs);
};

async function* follow<E>(call: StreamingRead<E>, silenceMs: number): AsyncGenerator<E> {
  let isWaiting = true;
  const timer = setTimeout(() => {
    if (isWaiting) call.destroy(new SilentServerError(`no event within ${silenceMs} ms`));
  }, silenceMs);
  try {
    for await (const event of call) {
      isWaiting = false;
      yield event;
      isWaiting = true;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    call.cancel().catch(() => undefined);
  }
}

/**
 * All events of one call, for calls with a small limit.
 * @throws SilentServerError after `withinMs`, or what the client throws
 */
export const collect = async <E>(call: StreamingRead<E>, withinMs: number): Promise<E[]> => {
  const timer = setTimeout(
    () => call.destroy(new SilentServerError(`not read within ${Math.round(withinMs)} ms`)),
    withinMs,
  );
  const events: E[] = [];
  try {
    for await (const event of eventsOf(call, withinMs)) events.push(event);
  } finally {
    clearTimeout(timer);
  }
  return events;
};
