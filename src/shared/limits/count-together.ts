import type { OpenWindow, WindowCounters } from './window-counters.ts';

/** Counts a subject several times at once. @returns the window after the last of them */
type CountTimes = (subject: string, seconds: number, times: number) => Promise<OpenWindow>;

/** What is asked for one subject in one turn of the event loop. */
interface Group {
  times: number;
  readonly window: Promise<OpenWindow>;
}

/**
 * Counts in one go what is asked for the same subject in the same turn: a client that sends many requests at
 * once costs its counters one. Everyone gets a number of their own.
 */
export const countTogether = (countTimes: CountTimes): WindowCounters['count'] => {
  const groups = new Map<string, Group>();
  const begin = (subject: string, seconds: number): Group => {
    const group: Group = {
      times: 0,
      window: new Promise((resolve, reject) => {
        setImmediate(() => {
          groups.delete(subject);
          countTimes(subject, seconds, group.times).then(resolve, reject);
        });
      }),
    };
    groups.set(subject, group);
    return group;
  };

  return async (subject, seconds) => {
    const group = groups.get(subject) ?? begin(subject, seconds);
    group.times += 1;
    const nth = group.times;
    const { count, msLeft } = await group.window;
    return { count: count - group.times + nth, msLeft };
  };
};
