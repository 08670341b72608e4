import type { AgentRegistered, SyncTask } from '../../domain/agents/resource.ts';

/** What an agent offers. Holds no other text of the agent. */
export type AgentCapabilities =
  /** The tasks of AdCP that it offers; undefined if it does not name its tasks. */
  | { readonly outcome: 'answered'; readonly tasks: readonly SyncTask[] | undefined }
  | { readonly outcome: 'credentials-refused' }
  /** Unavailable, slow, or no AdCP agent. The reason may be shown to clients. */
  | { readonly outcome: 'silent'; readonly reason: string };

export type AskCapabilities = (
  agent: {
    readonly agentUrl: string;
    readonly protocol: AgentRegistered['protocol'];
    readonly token: string | undefined;
  },
  end?: AbortSignal,
) => Promise<AgentCapabilities>;
