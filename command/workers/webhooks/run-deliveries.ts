import { failpoint } from '../../../shared/async/failpoints.ts';
import { attemptDelivery, GONE, type AttemptOptions, type Receiver } from './attempt.ts';
import type { DeliveryRows, DueDelivery } from './delivery-rows.ts';
import type { Outcome } from './settle-outcomes.ts';
import type { InFlight } from './in-flight.ts';
import type { Supply } from './supply.ts';

export interface RunOptions extends AttemptOptions {
  readonly rows: Pick<DeliveryRows, 'settle' | 'cancel'>;
  readonly inFlight: InFlight;
  readonly count: (outcome: Outcome) => void;
}

export interface RunEnd {
  readonly isGone: boolean;
  /** Their last attempt failed. */
  readonly failed: readonly string[];
}

export const IN_FLIGHT_PER_ENDPOINT = 4;
/** Outcomes that are not stored yet. More would be sent again after a crash. */
const UNSETTLED_MAX = 64;

/**
 * Sends what the supply hands out, a few at once. A slow endpoint gets one delivery, and the others after its success.
 * @throws the signal's reason, and what the first of several failures throws
 */
export const runDeliveries = async (
  options: RunOptions,
  receiver: Receiver,
  supply: Supply,
  isSlow: boolean,
  signal: AbortSignal,
): Promise<RunEnd> => {
  const unsettled = new Set<Promise<void>>();
  const failed: string[] = [];
  let isGone = false;
  let failure: { readonly error: unknown } | undefined;

  const fail = (error: unknown): void => {
    failure ??= { error };
    supply.end();
  };
  const record = (delivery: DueDelivery, outcome: Outcome): void => {
    options.count(outcome);
    if (outcome.attempt.status === GONE) isGone = true;
    if (isGone || outcome.slowMs !== undefined) supply.end();
    const settled = options.rows.settle(outcome).then(
      () => {
        failpoint('webhook-after-outcome');
        unsettled.delete(settled);
        supply.settled(delivery);
        if (outcome.state === 'failed') failed.push(outcome.deliveryId);
      },
      (error: unknown) => {
        unsettled.delete(settled);
        fail(error);
      },
    );
    unsettled.add(settled);
  };
  /** @returns whether it was delivered, or need not be */
  const send = async (delivery: DueDelivery, isProbe: boolean): Promise<boolean> => {
    const { message } = delivery;
    if (message === undefined) {
      await options.rows.cancel(receiver, delivery.id);
      return true;
    }
    const outcome = await options.inFlight.hold(receiver.customerId, isProbe, async () =>
      supply.isOpen() ? attemptDelivery(options, receiver, delivery, message, signal) : undefined,
    );
    if (outcome === undefined) return false;
    record(delivery, outcome);
    if (unsettled.size >= UNSETTLED_MAX) await Promise.race(unsettled);
    return outcome.state === 'delivered';
  };
  const lane = async (): Promise<void> => {
    for (let one = await supply.next(); one !== undefined; one = await supply.next()) await send(one, false);
  };
  try {
    if (isSlow) {
      const first = await supply.next(1);
      if (first === undefined || !(await send(first, true))) supply.end();
    }
    await Promise.all(Array.from({ length: IN_FLIGHT_PER_ENDPOINT }, () => lane().catch(fail)));
  } catch (error) {
    fail(error);
  }
  await Promise.all(unsettled);
  if (failure !== undefined) throw failure.error;
  return { isGone, failed };
};
