/**
 * `AbortSignal.timeout(ms)` that goes off. Node 20 lets the garbage collector take one that nothing but `AbortSignal.any`
 * refers to, and a request would then wait for ever: a listener keeps it.
 */
export const timeoutSignal = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined);
  return signal;
};
