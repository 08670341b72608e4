import { types } from 'node:util';
import { MessageChannel } from 'node:worker_threads';

/** Nobody is at the other end: what is sent to it is gone. */
const nowhere = (() => {
  const { port1, port2 } = new MessageChannel();
  port1.unref();
  port2.close();
  return port1;
})();

/**
 * Gives back the memory of buffers that nobody reads any more, now: they are empty afterwards. The garbage collector would
 * free it, too, but counts it with its heap until it does, and marks the whole heap for some dozen MB of it. Those that share
 * their memory with others, as parts of Node's pool do, are left to it.
 */
export const releaseMemory = (buffers: readonly Buffer[]): void => {
  const whole = new Set<ArrayBuffer>();
  for (const { buffer, byteLength } of buffers) {
    if (types.isArrayBuffer(buffer) && byteLength > 0 && byteLength === buffer.byteLength) whole.add(buffer);
  }
  if (whole.size > 0) nowhere.postMessage(undefined, [...whole]);
};
