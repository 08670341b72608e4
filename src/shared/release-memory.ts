import { types } from 'node:util';
import { MessageChannel } from 'node:worker_threads';

/** Nobody is at the other end: what is sent to it is gone. */
const nowhere = (() => {
  const { port1, port2 } = new MessageChannel();
  port1.unref();
  port2.close();
  return port1;
})();

/** Given back together: what tells the one tells all of them. */
const TOGETHER = 16;
let spent = new Set<ArrayBuffer>();

/**
 * Gives back the memory of a buffer that nobody reads any more, soon: it is empty from then on. The garbage collector would
 * free it, too, but counts it with its heap until it does, and marks the whole heap for some dozen MB of it. One that shares
 * its memory with others, as parts of Node's pool do, is left to it.
 */
export const releaseMemory = ({ buffer, byteLength }: Buffer): void => {
  if (!types.isArrayBuffer(buffer) || byteLength === 0 || byteLength !== buffer.byteLength) return;
  if (spent.add(buffer).size < TOGETHER) return;
  const together = [...spent];
  spent = new Set();
  nowhere.postMessage(undefined, together);
};
