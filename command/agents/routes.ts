import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  agentFields,
  agentIdOf,
  agentResource,
  AgentResource,
  type AgentRegistered,
  type SyncTask,
} from '../../domain/agents/agent-resource.ts';
import { AGENT } from '../../domain/agents/agent.ts';
import { createInput } from '../../domain/fields.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText, foreignCredential, outboundAddress } from '../../shared/http/schemas.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import type { AskCapabilities } from './agent-capabilities.ts';
import { createAgent, loadAgent, runOnAgent } from './load-agent.ts';

export interface AgentWrites {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly outbound: OutboundPolicy;
  /** Undefined when this process must not call agents. */
  readonly askCapabilities: AskCapabilities | undefined;
  /** True while the agent stores, or may store, a resource of the account. Reads the account's own writes. */
  readonly isInUse: (customerId: number, agentId: string) => Promise<boolean>;
}

const path = '/api/v2/buyer/adcp-agents';
const tag = 'AdCP Agents';

const agentBody = (outbound: OutboundPolicy) =>
  z
    .object({
      ...createInput(agentFields, {
        name: boundedText(1, 200),
        url: outboundAddress(outbound),
        accountId: boundedText(1, 255).optional().meta({
          description:
            "The buyer's account at the agent. Without it the agent receives the advertiser's brand.",
        }),
      }),
      auth: z.object({ type: z.literal('bearer'), token: foreignCredential() }).optional(),
    })
    .meta({ id: 'RegisterAdcpAgent' });

export const agentWriteRoutes = (writes: AgentWrites): readonly Route[] => [
  registerRoute(writes),
  removeRoute(writes),
];

const registerRoute = (writes: AgentWrites): Route => {
  const { store, clock, secrets, outbound } = writes;
  const stores = { store };
  return route({
    method: 'post',
    path,
    operationId: 'createAdcpAgent',
    summary:
      'Register an AdCP agent to syndicate to. The service asks it which tasks it supports; an agent that does not answer is UNREACHABLE and asked again later. Its token is stored encrypted and never shown.',
    tag,
    access: 'exchange:write',
    body: agentBody(outbound),
    bodyIsSecret: true,
    responses: { 201: { description: 'The agent', data: AgentResource } },
    handle: async ({ body: { auth, ...body }, request }) => {
      const { customerId } = request.principal;
      const agentId = derivedId(request.commandId, 'agent');
      // An earlier run of this request has registered the agent: neither the agent's current answer nor the secret
      // would change it.
      const isRepeat = await request.hasRunBefore();
      const isThere = isRepeat && (await loadAgent(stores, customerId, agentId)) !== undefined;
      const { supportedTasks, silence } = isThere
        ? {}
        : await offerOf(writes, { ...body, token: auth?.token });
      // A new id per run: a stalled run must not overwrite the token that another run's event refers to.
      const secretId = auth === undefined ? undefined : randomUUID();
      // Stored before the event that refers to it. A crash in between leaves an unreferenced secret, which is purged
      // later.
      if (!isThere && auth !== undefined && secretId !== undefined) {
        await secrets.put(customerId, secretId, auth.token, { kind: AGENT, id: agentId });
      }
      const agent: AgentRegistered = omitUndefined({
        agentId,
        customerId,
        ...body,
        secretId,
        supportedTasks,
      });
      const now = isoTimestamp(clock.now());
      const command = { type: 'RegisterAgent', now, agent, silence } as const;
      const registered = await createAgent(stores, agentId, command, request);
      return { status: 201, data: agentResource(registered) };
    },
  });
};

interface AgentAddress {
  readonly url: string;
  readonly protocol: AgentRegistered['protocol'];
  readonly token: string | undefined;
}

interface AgentOffer {
  readonly supportedTasks?: SyncTask[] | undefined;
  readonly silence?: string | undefined;
}

/**
 * An agent that does not answer is registered as `UNREACHABLE` and asked again later. @throws ApiError
 * VALIDATION_ERROR when it refuses the credentials
 */
const offerOf = async (
  { askCapabilities }: AgentWrites,
  { url, protocol, token }: AgentAddress,
): Promise<AgentOffer> => {
  if (askCapabilities === undefined) return {};
  const asked = await askCapabilities({ agentUrl: url, protocol, token });
  if (asked.outcome === 'credentials-refused') {
    const field = token === undefined ? 'auth' : 'auth.token';
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `${field}: The agent does not accept these credentials. Give the token that the agent was set up with.`,
      field,
    });
  }
  return asked.outcome === 'silent'
    ? { silence: asked.reason }
    : { supportedTasks: asked.tasks && [...asked.tasks] };
};

const removeRoute = ({ store, clock, secrets, isInUse }: AgentWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdcpAgent',
    summary: 'Remove an agent and its token. Refused while a resource is syndicated to it.',
    tag,
    access: 'exchange:write',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { id }, request }) => {
      const { customerId } = request.principal;
      const agentId = agentIdOf(id);
      if (agentId === undefined) throw notFound('agent');
      if (await isInUse(customerId, agentId)) {
        throw new ApiError({
          code: 'CONFLICT',
          message:
            'Resources are syndicated to this agent. Switch them off, wait until the agent has deleted them, then repeat.',
        });
      }
      // Deletes the token before the event: after a crash in between, a repeat finds the agent and completes the
      // command. In the other order nothing would refer to the token any more.
      const secretId = (await loadAgent({ store }, customerId, agentId))?.secretId;
      if (secretId !== undefined) await secrets.remove(customerId, secretId);
      const now = isoTimestamp(clock.now());
      await runOnAgent({ store }, agentId, { type: 'RemoveAgent', now }, request);
      return { status: 204 };
    },
  });
