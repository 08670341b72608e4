import type { AgentCommand } from '../../../domain/agents/agent.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { AGENT_CHECK } from '../../../domain/agents/work.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { executeOnAgent, loadAgent } from '../../agents/handler.ts';
import { readToken } from '../syndication/ask-agent.ts';
import type { AskCapabilities } from '../../agents/agent-capabilities.ts';

export interface CheckAgentsOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly askCapabilities: AskCapabilities;
}

/** The list alone says what is due, so several processes may run this. */
export const agentChecks = (options: CheckAgentsOptions): WorkKind => ({
  name: AGENT_CHECK,
  concurrency: 4,
  perAccountMax: 4,
  attemptsMax: Infinity,
  handle: (entry, run) => checkAgent(options, entry, run),
});

/** May run twice: the check after the same number of earlier ones is one command. */
const checkAgent = async (
  { store, clock, secrets, askCapabilities }: CheckAgentsOptions,
  { customerId, key: agentId }: WorkEntry,
  { signal }: WorkRun,
): Promise<WorkResult> => {
  const agent = await loadAgent({ store }, customerId, agentId);
  // The list may lag behind the stream.
  if (agent?.unreachable === undefined) return DONE;
  const { url, protocol, secretId } = agent;
  const { checks } = agent.unreachable;
  const token = secretId === undefined ? undefined : await readToken(secrets, customerId, secretId);
  const found: CheckResult =
    secretId !== undefined && token === undefined
      ? { silence: "The agent's token is gone. Register the agent again." }
      : foundIn(await askCapabilities({ agentUrl: url, protocol, token }, signal));
  // This process aborted the check, not the agent. It is due again after the lease.
  signal.throwIfAborted();
  const commandId = derivedId(agentId, `check:${checks}`);
  const command = { type: 'RecordAgentCheck', now: isoTimestamp(clock.now()), checks, found } as const;
  await executeOnAgent({ store }, agentId, command, {
    context: { commandId, customerId, actor: 'worker:agent-checks', requestId: commandId, continues: true },
  });
  return DONE;
};

type CheckResult = Extract<AgentCommand, { type: 'RecordAgentCheck' }>['found'];

const foundIn = (asked: Awaited<ReturnType<AskCapabilities>>): CheckResult => {
  switch (asked.outcome) {
    case 'answered':
      return { supportedTasks: asked.tasks === undefined ? undefined : [...asked.tasks] };
    // The agent is reachable. The next call reports the refused credentials to the buyer.
    case 'credentials-refused':
      return { supportedTasks: undefined };
    case 'silent':
      return { silence: asked.reason };
    default:
      return asked satisfies never;
  }
};
