import { advertiserRefused } from '../../../command/advertisers/handler.ts';
import { advertiserAggregate, advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { isoTimestamp } from '../../../shared/async/clock.ts';
import { executeCommand } from '../../../shared/aggregate/execute-command.ts';
import type { SnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { apiErrorOf } from '../../../shared/http/api-error-of.ts';
import { errorEnvelope, successEnvelope } from '../../../shared/http/envelope.ts';
import type { StoredAnswer } from '../../../shared/idempotency/claim.ts';
import { createExecuteOnce, type KeyedCommand } from '../../../shared/http/execute-once.ts';
import type { IdempotencyStore } from '../../../shared/idempotency/idempotency-store.ts';
import { quietLog } from './quiet-log.ts';
import { commandOf, CUSTOMER_ID, type SimulatedRequest } from './request.ts';
import type { Process, World } from './world.ts';

export interface Reply {
  /** 0: the connection was lost. */
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

export const noReply: Reply = { status: 0, body: '', replayed: false };

export interface ApiPorts {
  readonly store: EventStore;
  readonly idempotency: IdempotencyStore;
  readonly snapshots: SnapshotStore;
  readonly nextAdvertiserId: () => Promise<number>;
  /** The difference between the node's clock and the store's, in milliseconds. */
  readonly clockSkewMs: number;
  /** Called for every command without an event, because the requested state existed already. */
  readonly onNoEffect: (key: string) => void;
}

/** `isAbandoned` is true after the client got 503 with Retry-After. */
export type Serve = (request: SimulatedRequest, isAbandoned: () => boolean) => Promise<Reply>;

const aggregate = advertiserAggregate;
/** Fixed, because randomness may only come from the tape. */
const CONFLICT_PAUSE_MS = 5;

/**
 * A process that answers writes. It repeats what shared/http/route-handler.ts and command/advertisers/routes.ts do
 * between a parsed request and its answer. Everything below that is the service's own code.
 */
export const createApiNode = (world: World, process: Process, ports: ApiPorts): Serve => {
  const { store, idempotency, snapshots, nextAdvertiserId, clockSkewMs, onNoEffect } = ports;
  const executeOnce = createExecuteOnce(idempotency, quietLog);

  const run = async (
    request: SimulatedRequest,
    { commandId, reserved, hasRunBefore }: KeyedCommand,
    isAbandoned: () => boolean,
  ): Promise<StoredAnswer> => {
    const { kind } = request;
    const advertiserId = kind === 'create' ? (reserved['advertiserId'] ?? 0) : request.advertiserId;
    const origin = { commandId, now: isoTimestamp(world.now + clockSkewMs) };
    try {
      const outcome = await executeCommand(store, aggregate, {
        stream: advertiserStream(CUSTOMER_ID, advertiserId),
        command: commandOf(request, origin, advertiserId),
        context: { commandId, customerId: CUSTOMER_ID, actor: 'simulation', requestId: request.key },
        isNew: kind === 'create',
        pause: () => world.pause(process, CONFLICT_PAUSE_MS),
        isAbandoned,
        snapshots,
        hasRunBefore,
      });
      if (outcome.outcome === 'refused') throw advertiserRefused(outcome.refusal);
      if (outcome.position === undefined) onNoEffect(request.key);
      if (kind === 'archive') return { status: 204, body: '' };
      return { status: kind === 'create' ? 201 : 200, body: successEnvelope(JSON.stringify(outcome.state)) };
    } catch (error) {
      throw apiErrorOf(error);
    }
  };

  return async (request, isAbandoned) => {
    try {
      const reserved: Record<string, number> =
        request.kind === 'create' ? { advertiserId: await nextAdvertiserId() } : {};
      const { key, fingerprint } = request;
      return await executeOnce({ scope: String(CUSTOMER_ID), key, fingerprint, reserved }, (command) =>
        run(request, command, isAbandoned),
      );
    } catch (error) {
      const refusal = apiErrorOf(error);
      return { status: refusal.status, body: errorEnvelope(refusal.body), replayed: false };
    }
  };
};
