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
  /**
   * A further round trip begins only when the last one has been under way for so long, ms. Above what one usually
   * takes, questions share few of them, and one that hangs holds the others up no longer than this. Default 0.
   */
  readonly patienceMs?: number;
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
  { batchMax, inFlightMax, patienceMs = 0 }: CoalesceOptions,
): ((key: Key) => Promise<Value>) => {
  let queue: Waiting<Key, Value>[] = [];
  let inFlight = 0;
  let scheduled = false;
  let sentAt = 0;
  let isPatient = false;

  const run = async (batch: readonly Waiting<Key, Value>[]): Promise<void> => {
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

  /**
   * Everything that is read from sockets in the same turn of the event loop goes along; a microtask would run after the
   * first of them, and behind an answer, before what else has arrived with it.
   */
  const dispatchSoon = (): void => {
    if (scheduled || queue.length === 0 || inFlight >= inFlightMax) return;
    scheduled = true;
    setImmediate(dispatch);
  };

  const dispatch = (): void => {
    scheduled = false;
    while (queue.length > 0) {
      if (inFlight >= inFlightMax) return;
      const waitMs = inFlight === 0 ? 0 : patienceMs - (performance.now() - sentAt);
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
    if (isPatient) return;
    isPatient = true;
    setTimeout(() => {
      isPatient = false;
      dispatch();
    }, Math.ceil(ms));
  };

  return (key) =>
    new Promise<Value>((resolve, reject) => {
      queue.push({ key, resolve, reject });
      dispatchSoon();
    });
};
