/** One question of many waiting for the same round trip. */
interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

export interface CoalesceOptions {
  /** Questions asked in one round trip at most. */
  readonly batchMax: number;
  /** Round trips under way at once at most. */
  readonly inFlightMax: number;
}

/**
 * Answers single questions by asking many at once: questions that arrive while all round trips are busy
 * wait for the next one. No timer: an idle caller's question goes out at once. A question never joins a
 * round trip that has already been sent, so its answer is never older than the question.
 *
 * @param ask answers all keys, in their order; when it throws, every one of its questions fails alike
 */
export const coalesce = <Key, Value>(
  ask: (keys: readonly Key[]) => Promise<readonly Value[]>,
  { batchMax, inFlightMax }: CoalesceOptions,
): ((key: Key) => Promise<Value>) => {
  let queue: Waiting<Key, Value>[] = [];
  let inFlight = 0;
  let scheduled = false;

  const run = async (batch: readonly Waiting<Key, Value>[]): Promise<void> => {
    inFlight++;
    try {
      const values = await ask(batch.map(({ key }) => key));
      batch.forEach((waiting, index) => waiting.resolve(values[index] as Value));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      inFlight--;
      dispatch();
    }
  };

  const dispatch = (): void => {
    scheduled = false;
    while (queue.length > 0) {
      if (inFlight >= inFlightMax) return;
      const batch = queue.slice(0, batchMax);
      queue = queue.slice(batchMax);
      void run(batch);
    }
  };

  return (key) =>
    new Promise<Value>((resolve, reject) => {
      queue.push({ key, resolve, reject });
      if (scheduled || inFlight >= inFlightMax) return;
      // Everything that is read from sockets in the same turn of the event loop goes along; a microtask would
      // run after the first of them.
      scheduled = true;
      setImmediate(dispatch);
    });
};
