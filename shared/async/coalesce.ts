interface PendingKey<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export interface CoalesceOptions {
  readonly batchMax: number;
  readonly inFlightMax: number;
  /** After this time the next round trip starts, even if the last one hangs. Default 0. */
  readonly waitMsMax?: number;
}

/**
 * Keys that arrive while all round trips are busy share the next one. No key joins a round trip that was
 * already sent: no answer is older than its request. @param ask returns values in the order of the keys
 */
export const coalesce = <Key, Value>(
  ask: (keys: readonly Key[]) => Promise<readonly Value[]>,
  { batchMax, inFlightMax, waitMsMax = 0 }: CoalesceOptions,
): ((key: Key) => Promise<Value>) => {
  let queue: PendingKey<Key, Value>[] = [];
  let inFlight = 0;
  let scheduled = false;
  let sentAt = 0;
  let isDelayed = false;

  const run = async (batch: readonly PendingKey<Key, Value>[]): Promise<void> => {
    inFlight++;
    sentAt = performance.now();
    try {
      const values = await ask(batch.map(({ key }) => key));
      batch.forEach((waiting, index) => waiting.resolve(values[index] as Value));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      inFlight--;
      dispatchSoon();
    }
  };

  /** `setImmediate` waits for all sockets that are ready; a microtask would only batch the first request. */
  const dispatchSoon = (): void => {
    if (scheduled || queue.length === 0 || inFlight >= inFlightMax) return;
    scheduled = true;
    setImmediate(dispatch);
  };

  const dispatch = (): void => {
    scheduled = false;
    while (queue.length > 0) {
      if (inFlight >= inFlightMax) return;
      const waitMs = inFlight === 0 ? 0 : waitMsMax - (performance.now() - sentAt);
      if (waitMs > 0) {
        dispatchLater(waitMs);
        return;
      }
      const batch = queue.slice(0, batchMax);
      queue = queue.slice(batchMax);
      void run(batch);
    }
  };

  const dispatchLater = (ms: number): void => {
    if (isDelayed) return;
    isDelayed = true;
    setTimeout(() => {
      isDelayed = false;
      dispatch();
    }, Math.ceil(ms));
  };

  return (key) =>
    new Promise<Value>((resolve, reject) => {
      queue.push({ key, resolve, reject });
      dispatchSoon();
    });
};
