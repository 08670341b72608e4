import { z } from 'zod';
import { agentEvents, type AgentRegistered, type SyncTask } from '../../domain/agents/agent-events.ts';
import { agentIdOf, agentResource, AgentResource } from '../../domain/agents/agent-resource.ts';
import {
  AGENT,
  agentDecider,
  agentStream,
  type Agent,
  type AgentCommand,
} from '../../domain/agents/agent.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { executeCommand } from '../../shared/command/execute-command.ts';
import { defined } from '../../shared/defined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText, foreignCredential } from '../../shared/http/schemas.ts';
import { derivedId, randomId } from '../../shared/ids.ts';
import { urlProblem, type OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import type { AskCapabilities } from '../workers/syndication/ask-capabilities.ts';
import { loadAgent } from './load-agent.ts';

export interface AgentWrites {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly outbound: OutboundPolicy;
  /** Undefined: agents are not asked what they offer. */
  readonly askCapabilities: AskCapabilities | undefined;
  /** Whether anything is, or may still be, at the agent. Holds all that the account has written before. */
  readonly isInUse: (customerId: number, agentId: string) => Promise<boolean>;
}

const path = '/api/v2/buyer/adcp-agents';
const tag = 'AdCP Agents';
const aggregate = { decider: agentDecider, events: agentEvents };

const agentBody = (outbound: OutboundPolicy) =>
  z
    .object({
      name: boundedText(1, 200),
      url: boundedText(1, 2_048).superRefine((url, context) => {
        const problem = urlProblem(url, outbound);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      }),
      protocol: z.enum(['MCP', 'A2A'], 'must be "MCP" or "A2A"'),
      auth: z.object({ type: z.literal('bearer'), token: foreignCredential() }).optional(),
      accountId: boundedText(1, 255).optional().meta({
        description: "The buyer's account at the agent. Without it the agent is told the advertiser's brand.",
      }),
    })
    .meta({ id: 'RegisterAdcpAgent' });

/** Agents of decisions.md section 2. */
export const agentWriteRoutes = (writes: AgentWrites): readonly Route[] => [
  registerRoute(writes),
  removeRoute(writes),
];

const registerRoute = (writes: AgentWrites): Route => {
  const { store, clock, secrets, outbound } = writes;
  return route({
    method: 'post',
    path,
    operationId: 'createAdcpAgent',
    summary:
      'Register an AdCP agent to syndicate to. It is asked what it offers; its token is kept encrypted and never shown.',
    tag,
    access: 'exchange:write',
    body: agentBody(outbound),
    bodyIsSecret: true,
    responses: { 201: { description: 'The agent', data: AgentResource } },
    handle: async ({ body: { auth, ...body }, request }) => {
      const { customerId } = request.principal;
      const agentId = derivedId(request.commandId, 'agent');
      // Registered by an earlier run of this request: nothing that the agent says now, or that is kept, would change that.
      const isThere =
        (await request.hasRunBefore()) && (await loadAgent(store, customerId, agentId)) !== undefined;
      const supportedTasks = isThere ? undefined : await tasksOf(writes, { ...body, token: auth?.token });
      // Of this run: one that stalled must not put its token over what another run's event names since.
      const secretId = auth === undefined ? undefined : randomId();
      // Before the event that refers to it: what a crash leaves behind is a secret that nothing leads to.
      if (!isThere && auth !== undefined && secretId !== undefined) {
        await secrets.put(customerId, secretId, auth.token, { kind: AGENT, id: agentId });
      }
      const agent: AgentRegistered = defined({ agentId, customerId, ...body, secretId, supportedTasks });
      const now = isoTimestamp(clock.now());
      const registered = await run(store, agentId, { type: 'RegisterAgent', now, agent }, request);
      return { status: 201, data: agentResource(registered) };
    },
  });
};

interface AskedAgent {
  readonly url: string;
  readonly protocol: AgentRegistered['protocol'];
  readonly token: string | undefined;
}

/**
 * What the agent offers; undefined when it does not say. One that is away is registered all the same, and has the rest of
 * its life to be there; one that does not accept the credentials never will.
 * @throws ApiError VALIDATION_ERROR
 */
const tasksOf = async (
  { askCapabilities }: AgentWrites,
  { url, protocol, token }: AskedAgent,
): Promise<SyncTask[] | undefined> => {
  if (askCapabilities === undefined) return undefined;
  const asked = await askCapabilities({ agentUrl: url, protocol, token });
  if (asked.outcome === 'credentials-refused') {
    const field = token === undefined ? 'auth' : 'auth.token';
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `${field}: The agent does not accept these credentials. Give the token that the agent was set up with.`,
      field,
    });
  }
  return asked.outcome === 'answered' ? [...asked.tasks] : undefined;
};

const removeRoute = ({ store, clock, secrets, isInUse }: AgentWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdcpAgent',
    summary: 'Forget an agent and its token. Refused while anything is syndicated to it.',
    tag,
    access: 'exchange:write',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
    responses: { 204: { description: 'Forgotten' } },
    handle: async ({ params: { id }, request }) => {
      const { customerId } = request.principal;
      const agentId = agentIdOf(id);
      if (agentId === undefined) throw notFound('agent');
      if (await isInUse(customerId, agentId)) {
        throw new ApiError({
          code: 'CONFLICT',
          message:
            'Something is syndicated to this agent. Switch it off, wait until the agent has dropped it, then repeat.',
        });
      }
      // Before the event: cut off in between, a repeat finds the agent and finishes. Behind it, nothing would lead to the
      // token any more.
      const secretId = (await loadAgent(store, customerId, agentId))?.secretId;
      if (secretId !== undefined) await secrets.remove(customerId, secretId);
      const now = isoTimestamp(clock.now());
      await run(store, agentId, { type: 'RemoveAgent', now }, request);
      return { status: 204 };
    },
  });

const run = async (
  store: EventStore,
  agentId: string,
  command: AgentCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
): Promise<Agent> => {
  const outcome = await executeCommand(store, aggregate, {
    stream: agentStream(customerId, agentId),
    command,
    context: { commandId, customerId, actor, requestId },
    isAbandoned,
    hasRunBefore,
  });
  if (outcome.outcome === 'refused' || outcome.state.status === 'NONE') throw notFound('agent');
  return outcome.state;
};
