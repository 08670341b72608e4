import { coalesce } from '../coalesce.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

export interface Question {
  readonly subject: string;
  /** How long the subject's window stays open if this opens it. */
  readonly seconds: number;
}

/** Every subject once, with how often it was asked for. */
export type Asked = ReadonlyMap<string, { readonly seconds: number; readonly times: number }>;

/** Counts each subject as often as it was asked for. @returns their windows after the last of them */
type CountAll = (asked: Asked) => Promise<ReadonlyMap<string, OpenWindow>>;

/** What arrives during a round trip goes along in the next: batches of one process never wait for each other's rows. */
export const ROUND_TRIPS = { batchMax: 500, inFlightMax: 1 };

export const bySubject = (questions: readonly Question[]): Asked => {
  const asked = new Map<string, { seconds: number; times: number }>();
  for (const { subject, seconds } of questions) {
    const same = asked.get(subject);
    if (same === undefined) asked.set(subject, { seconds, times: 1 });
    else same.times += 1;
  }
  return asked;
};

/**
 * Counts in one go what is asked while the last round trip is under way: a client that sends many requests at once
 * costs its counters one. Those who asked for the same subject get its last numbers, one each.
 */
export const countTogether = (countAll: CountAll): WindowCounters['count'] => {
  const count = coalesce(async (questions: readonly Question[]): Promise<readonly OpenWindow[]> => {
    const asked = bySubject(questions);
    const windows = await countAll(asked);
    const counted = new Map<string, number>();
    return questions.map(({ subject }) => {
      const window = windows.get(subject);
      if (window === undefined) throw new Error('a subject was not counted');
      const before = counted.get(subject) ?? window.count - (asked.get(subject)?.times ?? 0);
      counted.set(subject, before + 1);
      return { count: before + 1, msLeft: window.msLeft };
    });
  }, ROUND_TRIPS);
  return (subject, seconds) => count({ subject, seconds });
};
