import type { AgentRegistered, SyncTask } from '../../../domain/agents/resource.ts';
import type { SubmittedCall } from '../../../domain/syndication/resource.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';

/** A task that the agent has accepted and finishes later. */
export type SubmittedTask = Pick<SubmittedCall, 'taskId' | 'taskOf'>;

/** Changes nothing at the agent. */
export type ReadTask = (typeof readTasks)[number];
export const readTasks = ['get_products', 'get_media_buys', 'get_media_buy_delivery'] as const;

export interface AgentCall {
  readonly agentUrl: string;
  readonly protocol: AgentRegistered['protocol'];
  readonly token: string | undefined;
  readonly task: SyncTask | ReadTask;
  readonly request: JsonObject;
  /** Members that AdCP 3 has added: other agents may refuse them. */
  readonly sinceV3?: JsonObject;
  /**
   * A UUID, or two joined by a dot (AdCP's pattern), equal for all attempts, so that the agent executes one.
   * A list of resources to keep, harmless to repeat, gets a new key per attempt (`withdraw.ts`). Not sent with a read.
   */
  readonly idempotencyKey: string;
  /** Set to poll an accepted task instead of calling again. */
  readonly submittedTask?: SubmittedTask | undefined;
  readonly signal: AbortSignal;
}

/** Where a failure lies. Absent: the agent has answered with an error. */
export type CallFault = 'transport' | 'protocol';

export type AgentAnswer =
  /** `data` holds the result of each item. Undefined when the agent completes without a result. */
  | { readonly outcome: 'completed'; readonly data: JsonObject | undefined }
  | {
      readonly outcome: 'refused';
      readonly message: string;
      readonly fault?: CallFault;
      /** The agent's own. */
      readonly code?: string;
    }
  | ({ readonly outcome: 'submitted' } & SubmittedTask)
  /** Transient failure or unknown outcome: repeat with the same key. */
  | {
      readonly outcome: 'retry';
      readonly message: string;
      readonly afterMs: number;
      readonly fault?: CallFault;
      readonly code?: string;
    };

/** Never throws for anything an agent does. */
export type CallAgent = (call: AgentCall) => Promise<AgentAnswer>;
