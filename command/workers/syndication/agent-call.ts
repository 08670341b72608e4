import type { AgentRegistered, SyncTask } from '../../../domain/agents/resource.ts';
import type { SubmittedCall } from '../../../domain/syndication/syndication-resource.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';

/** A task that the agent has accepted, by the agent's id. */
export type TakenIn = Pick<SubmittedCall, 'taskId' | 'taskOf'>;

export interface AgentCall {
  readonly agentUrl: string;
  readonly protocol: AgentRegistered['protocol'];
  /** Undefined for an agent without authentication. */
  readonly token: string | undefined;
  readonly task: SyncTask;
  /** Without the idempotency key. */
  readonly request: JsonObject;
  /**
   * A UUID, or two joined by a dot, as AdCP's pattern allows. Equal for all attempts of a call, so that the agent
   * executes it once. Only a list of resources to keep, which is harmless to repeat, gets a new key per attempt
   * (`withdraw.ts`).
   */
  readonly idempotencyKey: string;
  /** Set to poll an accepted task instead of calling again. */
  readonly takenIn?: TakenIn | undefined;
  readonly signal: AbortSignal;
}

export type AgentAnswer =
  /**
   * The call succeeded; `data` holds the result of each item. Undefined when the agent reports completion without a
   * result.
   */
  | { readonly outcome: 'completed'; readonly data: JsonObject | undefined }
  /** Permanent failure. */
  | { readonly outcome: 'refused'; readonly message: string }
  /** Accepted, not finished. */
  | ({ readonly outcome: 'submitted' } & TakenIn)
  /** Transient failure or unknown outcome: repeat with the same key. */
  | { readonly outcome: 'retry'; readonly message: string; readonly afterMs: number };

/** Never throws for anything an agent does. */
export type CallAgent = (call: AgentCall) => Promise<AgentAnswer>;
