import { jsonEvent, WrongExpectedVersionError } from '@eventstore/db-client';
import type { Connection } from './connection.ts';
import { describeFailure, doubtOf, isNotPermitted, NoLeaderError } from './failure.ts';
import { callAppend } from './send-append.ts';

const TRIES_MAX = 2;
/** Less than the second that `/ready` allows each check. */
const STEP_MS_MAX = 400;
const ANSWER_MS_MAX = 900;
const STREAM = 'readiness';
/** No stream has this revision. The server rejects the append only after all other checks. */
const IMPOSSIBLE_REVISION = Number.MAX_SAFE_INTEGER;
const EVENT = jsonEvent({ id: '00000000-0000-4000-8000-000000000000', type: 'ReadinessAsked', data: {} });

/**
 * Sends an append that must fail: the rejection shows that the node considers itself the leader and that the
 * user may append, not that it has a majority: only the search for the leader contacts the other nodes.
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
      return 'EventStoreDB accepted an append at an impossible revision';
    } catch (error) {
      if (error instanceof WrongExpectedVersionError) return undefined;
      if (error instanceof NoLeaderError) return error.message;
      if (isNotPermitted(error)) {
        return 'the user of EVENTSTORE_URL may not append: give it the right to write';
      }
      // The search for the leader is running; the second try waits for it.
      if (doubtOf(error) === undefined || tries === TRIES_MAX) {
        return `no append could be made: ${describeFailure(error)}`;
      }
    }
  }
};
