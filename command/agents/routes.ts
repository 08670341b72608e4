import { z } from 'zod';
import { registerAgentBody } from '../../domain/agents/input.ts';
import { agentResource, AgentResource } from '../../domain/agents/resource.ts';
import { boundedText } from '../../domain/values.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { outboundAddress } from '../../shared/http/schemas.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import { registerAgent, removeAgent, type AgentWrites } from './commands.ts';

const path = '/api/v2/buyer/adcp-agents';
const write = { tag: 'AdCP Agents', access: 'exchange:write' } as const;

export const agentWriteRoutes = (
  writes: AgentWrites & { readonly outbound: OutboundPolicy },
): readonly Route[] => [registerRoute(writes, writes.outbound), removeRoute(writes)];

const registerRoute = (writes: AgentWrites, outbound: OutboundPolicy): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createAdcpAgent',
    summary:
      'Register an AdCP agent to syndicate to. The service asks it which tasks it supports; an agent that does not answer is UNREACHABLE and asked again later. Its token is stored encrypted and never shown.',
    body: registerAgentBody(outboundAddress(outbound)),
    bodyIsSecret: true,
    responses: { 201: { description: 'The agent', data: AgentResource } },
    handle: async ({ body: { auth, ...details }, request }) => ({
      status: 201,
      data: agentResource(await registerAgent(writes, details, auth?.token, request)),
    }),
  });

const removeRoute = (writes: AgentWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteAdcpAgent',
    summary: 'Remove an agent and its token. Refused while a resource is syndicated to it.',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { id }, request }) => {
      await removeAgent(writes, id, request);
      return { status: 204 };
    },
  });
