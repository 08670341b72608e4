import type { Reply } from './api-node.ts';
import type { SimulatedRequest } from './request.ts';
import type { World } from './world.ts';

/** One attempt of a request, and the answer its sender got. */
export interface Attempt {
  readonly request: SimulatedRequest;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly reply: Reply;
}

/** Sends to any node. The status is 0 if the connection is lost. */
export type Send = (request: SimulatedRequest) => Promise<Reply>;

/** The attempts before a client gives up, one per second. */
const ATTEMPTS_MAX = 150;
const RETRY_AFTER_MS = 1_000;

export const isDefinite = ({ status, body }: Reply): boolean =>
  status !== 0 && status !== 503 && !body.includes('IDEMPOTENCY_IN_FLIGHT');

/** Repeats a request with its key until a definite answer. */
export const sendUntilDefinite = async (
  world: World,
  send: Send,
  history: Attempt[],
  request: SimulatedRequest,
  attemptsMax = ATTEMPTS_MAX,
): Promise<void> => {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const sentAt = world.now;
    const reply = await send(request);
    history.push({ request, sentAt, answeredAt: world.now, reply });
    if (isDefinite(reply)) return;
    await world.wait(RETRY_AFTER_MS);
  }
};
