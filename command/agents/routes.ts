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
import type { AskCapabilities } from '../workers/syndication/ask-capabilities.ts';
import { createAgent, loadAgent, runOnAgent } from './load-agent.ts';

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

const agentBody = (outbound: OutboundPolicy) =>
  z
    .object({
      ...createInput(agentFields, {
        name: boundedText(1, 200),
        url: outboundAddress(outbound),
        accountId: boundedText(1, 255).optional().meta({
          description:
            "The buyer's account at the agent. Without it the agent is told the advertiser's brand.",
        }),
      }),
      auth: z.object({ type: z.literal('bearer'), token: foreignCredential() }).optional(),
    })
    .meta({ id: 'RegisterAdcpAgent' });

/** Agents of decisions.md section 2. */
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
      'Register an AdCP agent to syndicate to. It is asked what it offers; one that does not answer is UNREACHABLE, and asked again later. Its token is kept encrypted and never shown.',
    tag,
    access: 'exchange:write',
    body: agentBody(outbound),
    bodyIsSecret: true,
    responses: { 201: { description: 'The agent', data: AgentResource } },
    handle: async ({ body: { auth, ...body }, request }) => {
      const { customerId } = request.principal;
      const agentId = derivedId(request.commandId, 'agent');
      // Registered by an earlier run of this request: nothing that the agent says now, or that is kept, would change that.
      const isRepeat = await request.hasRunBefore();
      const isThere = isRepeat && (await loadAgent(stores, customerId, agentId)) !== undefined;
      const { supportedTasks, silence } = isThere
        ? {}
        : await askedOf(writes, { ...body, token: auth?.token });
      // Of this run: one that stalled must not put its token over what another run's event names since.
      const secretId = auth === undefined ? undefined : randomUUID();
      // Before the event that refers to it: what a crash leaves behind is a secret that nothing leads to.
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

interface AskedAgent {
  readonly url: string;
  readonly protocol: AgentRegistered['protocol'];
  readonly token: string | undefined;
}

interface Found {
  readonly supportedTasks?: SyncTask[] | undefined;
  /** Why the agent does not answer. */
  readonly silence?: string | undefined;
}

/**
 * What the agent offers. One that does not answer is registered all the same, as `UNREACHABLE`, and asked again later
 * (`workers/agent-checks`); one that does not accept the credentials is not registered.
 * @throws ApiError VALIDATION_ERROR
 */
const askedOf = async (
  { askCapabilities }: AgentWrites,
  { url, protocol, token }: AskedAgent,
): Promise<Found> => {
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
      const secretId = (await loadAgent({ store }, customerId, agentId))?.secretId;
      if (secretId !== undefined) await secrets.remove(customerId, secretId);
      const now = isoTimestamp(clock.now());
      await runOnAgent({ store }, agentId, { type: 'RemoveAgent', now }, request);
      return { status: 204 };
    },
  });
