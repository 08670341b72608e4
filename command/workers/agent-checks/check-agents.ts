import type { AgentCommand } from '../../../domain/agents/agent.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import type { Logger } from 'pino';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import { executeOnAgent, loadAgent } from '../../agents/load-agent.ts';
import { readToken } from '../syndication/ask-agent.ts';
import type { AskCapabilities } from '../../agents/agent-capabilities.ts';
import { workThrough, type Watch } from '../work-through.ts';
import type { CheckList, DueCheck } from './check-list.ts';

export interface CheckAgentsOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly askCapabilities: AskCapabilities;
  readonly list: CheckList;
  readonly watch: Watch;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Agents that a process asks at once. */
const CONCURRENCY = 4;

/**
 * Asks agents that have not answered since they were registered, each when it is due, until `signal`. The list alone
 * says what is due, no queue is needed. Many processes may do this at once.
 */
export const checkAgents = (options: CheckAgentsOptions): Promise<void> =>
  workThrough({
    ...options,
    concurrency: CONCURRENCY,
    claim: (countMax) => options.list.claim(countMax),
    work: (due) => checkAgent(options, due),
    what: 'unreachable agents',
  });

/**
 * Asks one agent and records what came of it. May be repeated, and may run twice at once: the check that follows the
 * same number of earlier ones is one command.
 */
const checkAgent = async (options: CheckAgentsOptions, { customerId, agentId }: DueCheck): Promise<void> => {
  const { store, clock, secrets, askCapabilities, signal } = options;
  const agent = await loadAgent({ store }, customerId, agentId);
  // The list may be behind.
  if (agent?.unreachable === undefined) return;
  const { url, protocol, secretId } = agent;
  const { checks } = agent.unreachable;
  const token = secretId === undefined ? undefined : await readToken(secrets, customerId, secretId);
  const found: Found =
    secretId !== undefined && token === undefined
      ? { silence: "The agent's token is gone. Register the agent again." }
      : foundIn(await askCapabilities({ agentUrl: url, protocol, token }, signal));
  // Cut off by the end of this process, not by the agent: due again after the lease.
  if (signal.aborted) return;
  const commandId = derivedId(agentId, `check:${checks}`);
  const command = { type: 'RecordAgentCheck', now: isoTimestamp(clock.now()), checks, found } as const;
  await executeOnAgent({ store }, agentId, command, {
    context: { commandId, customerId, actor: 'worker:agent-checks', requestId: commandId, continues: true },
  });
};

type Found = Extract<AgentCommand, { type: 'RecordAgentCheck' }>['found'];

const foundIn = (asked: Awaited<ReturnType<AskCapabilities>>): Found => {
  switch (asked.outcome) {
    case 'answered':
      return { supportedTasks: asked.tasks === undefined ? undefined : [...asked.tasks] };
    // It is there; a call says to the buyer what is wrong.
    case 'credentials-refused':
      return { supportedTasks: undefined };
    case 'silent':
      return { silence: asked.reason };
    default:
      return asked satisfies never;
  }
};
