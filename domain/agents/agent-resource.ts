import { z } from 'zod';
import { createdShape, derived, fixed, found, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';

/** AdCP's tasks that things are syndicated with. */
export const SyncTask = z.enum(['sync_audiences', 'sync_catalogs', 'sync_event_sources']);
export type SyncTask = z.infer<typeof SyncTask>;

const Timestamp = z.iso.datetime({ precision: 3 });

/** Every member of an agent, in the order in which it is shown (decisions.md section 2). Its token is never shown. */
export const agentFields = {
  id: derived(z.string()),
  name: fixed(z.string()),
  url: fixed(z.string()),
  protocol: fixed(z.enum(['MCP', 'A2A'])),
  status: derived(
    z.enum(['ACTIVE', 'UNREACHABLE']).meta({
      description:
        '`UNREACHABLE`: it has not answered since it was registered. It is asked again until it does, and is `ACTIVE` then.',
    }),
  ),
  statusReason: derived(
    z.string().optional().meta({
      description: 'Why it is `UNREACHABLE`, and what to do; absent otherwise.',
    }),
  ),
  nextCheckAt: derived(
    Timestamp.optional().meta({
      description: 'When an `UNREACHABLE` agent is asked next; absent when it is asked no more.',
    }),
  ),
  // Absent where the agent knows the buyer by the advertiser's brand.
  accountId: fixed(z.string().optional()),
  supportedTasks: found(
    z.array(SyncTask).meta({
      description: 'What it offered when it first answered; absent when it has not, or did not say.',
    }),
    z.array(SyncTask),
  ),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const AgentResource = z.strictObject(resourceShape(agentFields)).meta({ id: 'AdcpAgent' });
export type AgentResource = z.infer<typeof AgentResource>;

export const AgentRegistered = z.object({
  agentId: z.string(),
  customerId: z.int(),
  ...createdShape(agentFields),
  /** Where its token is kept, encrypted; absent for an agent that wants none. Never the token. */
  secretId: z.string().optional(),
});
export type AgentRegistered = z.infer<typeof AgentRegistered>;

/** The agent did not answer a check, at its registration or later. */
export const AgentUnreachable = z.object({
  /** In words, for the buyer. Nothing of what a server says. */
  reason: z.string(),
  /** How often it was asked without an answer, from 1. */
  checks: z.int().min(1),
  /** When it is asked next; absent when it is asked no more. */
  nextCheckAt: Timestamp.optional(),
});
type AgentUnreachable = z.infer<typeof AgentUnreachable>;

/** An AdCP agent that an account has registered: audiences, event sources and catalogs are syndicated to it. */
export interface Agent extends AgentRegistered {
  readonly status: 'ACTIVE' | 'UNREACHABLE' | 'REMOVED';
  /** While it is UNREACHABLE. */
  readonly unreachable?: AgentUnreachable | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const agentResource = ({ unreachable, ...agent }: Agent): AgentResource =>
  membersOf(AgentResource, {
    ...agent,
    id: shownAgentId(agent.agentId),
    status: unreachable === undefined ? 'ACTIVE' : 'UNREACHABLE',
    statusReason: unreachable && silenceOf(agent.url, unreachable),
    nextCheckAt: unreachable?.nextCheckAt,
  });

/** What the buyer is told of an agent that does not answer. A query of its address is left out: it may hold a key. */
export const silenceOf = (url: string, { reason, nextCheckAt }: AgentUnreachable): string =>
  `The agent at ${url.replace(/[?#].*$/s, '')} did not answer when it was asked what it offers: ${reason} ` +
  (nextCheckAt === undefined
    ? 'It is not asked any more. Register it again when it is there.'
    : `It is asked again at ${nextCheckAt}.`);

const ids = shownIds('agt_');
export const shownAgentId = ids.shown;
export const agentIdOf = ids.idOf;
