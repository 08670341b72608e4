import type { AgentRegistered, SyncTask } from '../../../domain/agents/agent-resource.ts';
import type { SubmittedCall } from '../../../domain/syndication/syndication-resource.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';

/** What an agent has taken in, by its own id. */
export type TakenIn = Pick<SubmittedCall, 'taskId' | 'taskOf'>;

/** One thing asked of an agent. */
export interface AgentCall {
  readonly agentUrl: string;
  readonly protocol: AgentRegistered['protocol'];
  /** Undefined where the agent wants none. */
  readonly token: string | undefined;
  readonly task: SyncTask;
  /** The task's own members, without the key. */
  readonly request: JsonObject;
  /**
   * A UUID, or two with a dot between, as AdCP's pattern allows. The same for every try of one call, which the agent does
   * once; only a list of all that stays, which does no harm twice, has another one each time (`withdraw.ts`).
   */
  readonly idempotencyKey: string;
  /** Of a call that the agent has taken in: it is asked what became of it, not called again. */
  readonly takenIn?: TakenIn | undefined;
  /** Ends the try. */
  readonly signal: AbortSignal;
}

/** What an agent made of a call. */
export type AgentAnswer =
  /**
   * Done, as far as the call goes; what became of each item stands in `data`. Undefined of an agent that says of what
   * it took in that it is done, and no more.
   */
  | { readonly outcome: 'completed'; readonly data: JsonObject | undefined }
  /** It will not be done, however often it is asked for. */
  | { readonly outcome: 'refused'; readonly message: string }
  /** Taken in and not finished. */
  | ({ readonly outcome: 'submitted' } & TakenIn)
  /** Not done, not yet, or nobody knows: ask again with the same key. */
  | { readonly outcome: 'retry'; readonly message: string; readonly afterMs: number };

/** Talks to agents. Never throws for what an agent does. */
export type CallAgent = (call: AgentCall) => Promise<AgentAnswer>;
