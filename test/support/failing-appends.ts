import { AppendOutcomeUnknownError, type EventStore } from '../../shared/event-store/event-store.ts';

type Failure = 'before' | 'after';

/** An event store whose appends fail from the nth on, as after a crash. */
export interface FailingAppends {
  readonly wrap: (store: EventStore) => EventStore;
  /** @param how whether the nth append is written */
  failFrom(n: number, how: Failure): void;
  /** Resolves when no append is running: a request may be answered while another of its appends still runs. */
  heal(): Promise<void>;
  /** Appends since `failFrom` or `heal`. */
  readonly appends: number;
}

export const createFailingAppends = (): FailingAppends => {
  let [from, how, appends]: [number, Failure, number] = [Infinity, 'before', 0];
  const underWay = new Set<Promise<unknown>>();
  return {
    wrap: (store) => ({
      ...store,
      append: async (stream, events, expected) => {
        appends += 1;
        const isLast = appends === from;
        if (appends > from || (isLast && how === 'before')) throw new AppendOutcomeUnknownError('cut before');
        const appending = store.append(stream, events, expected);
        underWay.add(appending);
        const result = await appending.finally(() => underWay.delete(appending));
        if (isLast) throw new AppendOutcomeUnknownError('cut after');
        return result;
      },
    }),
    failFrom: (n, which) => {
      [from, how, appends] = [n, which, 0];
    },
    heal: async () => {
      await Promise.allSettled(underWay);
      [from, appends] = [Infinity, 0];
    },
    get appends() {
      return appends;
    },
  };
};

/** Each append as the first failing one, written or not. */
export const everyAppendOf = (count: number): readonly (readonly [number, Failure])[] =>
  Array.from({ length: count }, (_, n) => n + 1).flatMap((n) =>
    (['before', 'after'] as const).map((how) => [n, how] as const),
  );
