import { jsonEvent, WrongExpectedVersionError } from '@eventstore/db-client';
import type { Connection } from './connection.ts';
import { describeFailure, doubtOf, isNotPermitted, NoLeaderError } from './failure.ts';
import { callAppend } from './send-append.ts';

const TRIES_MAX = 2;
/** For one step of a try, and for all of them together: less than the second that `/ready` gives each part. */
const STEP_MS_MAX = 400;
const ANSWER_MS_MAX = 900;
const STREAM = 'readiness';
/** No stream is ever there: the server refuses the append after it has checked everything else about it. */
const IMPOSSIBLE_REVISION = Number.MAX_SAFE_INTEGER;
const EVENT = jsonEvent({ id: '00000000-0000-4000-8000-000000000000', type: 'ReadinessAsked', data: {} });

/**
 * Why no append could be made now, in words for an operator; undefined when one could. Answers within `ANSWER_MS_MAX`.
 *
 * Sends an append that its expected revision makes fail. The refusal shows that the node believes that it leads and that
 * the user may append, and nothing is written. It does not show that the leader has a majority: a leader refuses by
 * itself, and hears the others only of records that it has written. A search for the leader does ask the others
 * (`FindLeader`), and begins with the first call that is not answered.
 */
export const appendProblem = async (connection: Connection): Promise<string | undefined> => {
  const endMs = performance.now() + ANSWER_MS_MAX;
  const stepMs = (): number => Math.max(1, Math.min(STEP_MS_MAX, endMs - performance.now()));
  for (let tries = 1; ; tries += 1) {
    try {
      const client = await connection.leader(stepMs());
      const withinMs = stepMs();
      await connection.call(client, withinMs, () =>
        callAppend(client, { stream: STREAM, expected: IMPOSSIBLE_REVISION, events: [EVENT] }, withinMs),
      );
      return 'EventStoreDB appended at a revision that cannot be';
    } catch (error) {
      if (error instanceof WrongExpectedVersionError) return undefined;
      if (error instanceof NoLeaderError) return error.message;
      if (isNotPermitted(error)) {
        return 'the user of EVENTSTORE_URL may not append: give it the right to write';
      }
      // Whether another node leads is being found out: the second try waits for that.
      if (doubtOf(error) === undefined || tries === TRIES_MAX) {
        return `no append could be made: ${describeFailure(error)}`;
      }
    }
  }
};
