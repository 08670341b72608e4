import { randomUUID } from 'node:crypto';
import { AGENT } from '../../domain/agents/agent.ts';
import { agentIdOf, type Agent, type AgentRegistered, type SyncTask } from '../../domain/agents/resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { conflict, invalid, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import type { AskCapabilities } from './agent-capabilities.ts';
import { createAgent, loadAgent, runOnAgent } from './handler.ts';

export interface AgentWrites {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  /** Undefined when this process must not call agents. */
  readonly askCapabilities: AskCapabilities | undefined;
  /** True while the agent stores, or may store, a resource of the account. Reads the account's own writes. */
  readonly isInUse: (customerId: number, agentId: string) => Promise<boolean>;
}

type NewAgent = Pick<AgentRegistered, 'name' | 'url' | 'protocol' | 'accountId'>;

/** A silent agent is asked again later. @throws ApiError VALIDATION_ERROR when it refuses the credentials */
export const registerAgent = async (
  { store, clock, secrets, askCapabilities }: AgentWrites,
  details: NewAgent,
  token: string | undefined,
  request: RequestContext,
): Promise<Agent> => {
  const { customerId } = request.principal;
  const agentId = derivedId(request.commandId, 'agent');
  // If an earlier run registered the agent, a new answer or secret would change nothing.
  const isThere =
    (await request.hasRunBefore()) && (await loadAgent({ store }, customerId, agentId)) !== undefined;
  const offer = isThere ? {} : await offerOf(askCapabilities, details, token);
  // A new id per run: a stalled run must not overwrite the token that another run's event refers to.
  const secretId = token === undefined ? undefined : randomUUID();
  // Stored before the event. After a crash in between nothing refers to the secret, and a sweep deletes it.
  if (!isThere && token !== undefined && secretId !== undefined) {
    await secrets.put(customerId, secretId, token, { kind: AGENT, id: agentId });
  }
  const { supportedTasks, silence } = offer;
  const agent = omitUndefined({ agentId, customerId, ...details, secretId, supportedTasks });
  const now = isoTimestamp(clock.now());
  return createAgent({ store }, agentId, { type: 'RegisterAgent', now, agent, silence }, request);
};

interface AgentOffer {
  readonly supportedTasks?: SyncTask[] | undefined;
  readonly silence?: string | undefined;
}

const offerOf = async (
  ask: AskCapabilities | undefined,
  { url, protocol }: NewAgent,
  token: string | undefined,
): Promise<AgentOffer> => {
  if (ask === undefined) return {};
  const answer = await ask({ agentUrl: url, protocol, token });
  switch (answer.outcome) {
    case 'credentials-refused': {
      const field = token === undefined ? 'auth' : 'auth.token';
      throw invalid(
        `${field}: The agent does not accept these credentials. Give the token that the agent was set up with.`,
        field,
      );
    }
    case 'silent':
      return { silence: answer.reason };
    case 'answered':
      return { supportedTasks: answer.tasks && [...answer.tasks] };
    default:
      return answer satisfies never;
  }
};

/** @throws ApiError NOT_FOUND, CONFLICT while a resource is syndicated to the agent */
export const removeAgent = async (
  { store, clock, secrets, isInUse }: AgentWrites,
  shownId: string,
  request: RequestContext,
): Promise<void> => {
  const { customerId } = request.principal;
  const agentId = agentIdOf(shownId);
  if (agentId === undefined) throw notFound('agent');
  if (await isInUse(customerId, agentId)) {
    throw conflict(
      'Resources are syndicated to this agent. Switch them off, wait until the agent has deleted them, then repeat.',
    );
  }
  // Deletes the token first: after a crash in between, a repeat still finds the agent and completes the command.
  const secretId = (await loadAgent({ store }, customerId, agentId))?.secretId;
  if (secretId !== undefined) await secrets.remove(customerId, secretId);
  await runOnAgent({ store }, agentId, { type: 'RemoveAgent', now: isoTimestamp(clock.now()) }, request);
};
