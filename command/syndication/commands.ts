import {
  ResourceType,
  type AccountReference,
  type SyndicationRecord,
} from '../../domain/syndication/resource.ts';
import { SYNDICATION, type ToggleSyndication } from '../../domain/syndication/syndication.ts';
import type { Agent } from '../../domain/agents/resource.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { agentIdOf, silenceOf } from '../../domain/agents/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandStores } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { loadAdvertiser, writableAdvertiser } from '../advertisers/handler.ts';
import { loadAgent, loadAgentOfAnyTime } from '../agents/handler.ts';
import { carryOut, stepRequest, type SyncStores } from '../resource-syncs/plan-sync.ts';
import type { SyndicatedKinds } from './syndicated-kinds.ts';
import { syndicationHandler } from './handler.ts';

export interface SyndicationWrites extends SyncStores {
  readonly kinds: SyndicatedKinds;
  /** Identifies the service to agents that know accounts by brand and operator. */
  readonly operator: () => string;
}

export interface Toggle {
  readonly advertiserId: number;
  readonly resourceType?: ResourceType | undefined;
  readonly resourceId: string;
  readonly agentIds: readonly string[];
  readonly enabled: boolean;
}

const WAITS = 'This begins when the agent answers.';

/**
 * Looks everything up first, so an unknown agent or resource changes nothing. A repeat completes a partly
 * executed request, even if resource, advertiser or agent was deleted since.
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR
 */
export const toggleSyndication = async (
  writes: SyndicationWrites,
  toggle: Toggle,
  request: RequestContext,
): Promise<readonly SyndicationRecord[]> => {
  const { customerId } = request.principal;
  const begunType = await typeBegunWith(writes, toggle, request);
  const hasBegun = begunType !== undefined;
  const advertiser = hasBegun
    ? await advertiserOfAnyTime(writes, customerId, toggle.advertiserId)
    : await writableAdvertiser(writes, customerId, toggle.advertiserId);
  const { resourceType, revision } = hasBegun
    ? await resourceOfRepeat(writes, customerId, toggle, begunType)
    : await findResource(writes, customerId, toggle);
  const load = hasBegun ? loadAgentOfAnyTime : loadAgent;
  const agents = await Promise.all(
    toggle.agentIds.map((id, n) => agentOf(load, writes, customerId, id, `adcpAgentIds.${n}`)),
  );
  const now = isoTimestamp(writes.clock.now());
  const steps = agents.map((agent, n) => {
    const { advertiserId, resourceId } = toggle;
    const { agentId } = agent;
    const recordId = recordIdOf(customerId, toggle, resourceType, agentId);
    const account = accountAt(agent, advertiser, writes.operator(), `adcpAgentIds.${n}`);
    const command: ToggleSyndication = {
      type: 'ToggleSyndication',
      now,
      record: {
        recordId,
        customerId,
        advertiserId,
        resourceType,
        resourceId,
        agentId,
        account,
        ...(revision === undefined || !toggle.enabled ? {} : { resourceRevision: revision }),
        ...(agent.unreachable === undefined || !toggle.enabled
          ? {}
          : { errorMessage: `${silenceOf(agent.url, agent.unreachable)} ${WAITS}` }),
      },
      enabled: toggle.enabled,
    };
    return { id: recordId, command };
  });
  const outcomes = await carryOut(writes, syndicationHandler, steps, request);
  return outcomes.map(syndicationHandler.resultOf);
};

/** Undefined when no earlier run of this request wrote a record. */
const typeBegunWith = async (
  writes: SyndicationWrites,
  toggle: Toggle,
  request: RequestContext,
): Promise<ResourceType | undefined> => {
  if (!(await request.hasRunBefore())) return undefined;
  const types = toggle.resourceType === undefined ? ResourceType.options : [toggle.resourceType];
  const agentIds = toggle.agentIds.map(agentIdOf).filter((id) => id !== undefined);
  for (const type of types) {
    for (const agentId of agentIds) {
      const recordId = recordIdOf(request.principal.customerId, toggle, type, agentId);
      const step = stepRequest(request, recordId);
      if ((await syndicationHandler.doneBefore(writes, recordId, step)) !== undefined) return type;
    }
  }
  return undefined;
};

const advertiserOfAnyTime = async (
  writes: SyndicationWrites,
  customerId: number,
  advertiserId: number,
): Promise<AdvertiserResource> => {
  const advertiser = await loadAdvertiser(writes, customerId, advertiserId);
  if (advertiser === undefined) throw new Error('a record refers to an advertiser that does not exist');
  return advertiser;
};

interface ToggledResource {
  readonly resourceType: ResourceType;
  readonly revision: number | undefined;
}

const resourceOf = async (
  { kinds }: SyndicationWrites,
  customerId: number,
  { advertiserId, resourceId }: Toggle,
  resourceType: ResourceType,
): Promise<ToggledResource> => {
  const resource = await kinds[resourceType].load({ customerId, advertiserId, resourceId });
  return { resourceType, revision: resource?.revision };
};

const resourceOfRepeat = async (
  writes: SyndicationWrites,
  customerId: number,
  toggle: Toggle,
  resourceType: ResourceType,
): Promise<ToggledResource> =>
  toggle.enabled
    ? resourceOf(writes, customerId, toggle, resourceType)
    : { resourceType, revision: undefined };

const findResource = async (
  writes: SyndicationWrites,
  customerId: number,
  toggle: Toggle,
): Promise<ToggledResource> => {
  const { kinds } = writes;
  const { resourceType, enabled } = toggle;
  const asked = Object.values(kinds).filter(
    (kind) => resourceType === undefined || kind.resourceType === resourceType,
  );
  const found = await Promise.all(
    asked.map(async (kind) => {
      const one = await resourceOf(writes, customerId, toggle, kind.resourceType);
      // A deleted resource may still be stored at agents, so it can be switched off, but not on.
      const isFound =
        one.revision !== undefined ||
        (!enabled && (await hasRecord(writes, customerId, toggle, kind.resourceType)));
      return isFound ? [one] : [];
    }),
  );
  const [first, second] = found.flat();
  if (first === undefined) {
    throw new ApiError({ ...notFound('resource of this advertiser').body, field: 'resourceId' });
  }
  if (second === undefined) return first;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'The advertiser has resources of several types with this id. Say which with resourceType.',
    field: 'resourceType',
  });
};

const recordIdOf = (
  customerId: number,
  { advertiserId, resourceId }: Toggle,
  resourceType: ResourceType,
  agentId: string,
): string => resourceIdOf(SYNDICATION, customerId, advertiserId, `${resourceType}:${agentId}:${resourceId}`);

const hasRecord = async (
  stores: CommandStores,
  customerId: number,
  toggle: Toggle,
  resourceType: ResourceType,
): Promise<boolean> => {
  for (const shownId of toggle.agentIds) {
    const agentId = agentIdOf(shownId);
    if (agentId === undefined) continue;
    const recordId = recordIdOf(customerId, toggle, resourceType, agentId);
    if ((await syndicationHandler.load(stores, customerId, recordId)) !== undefined) return true;
  }
  return false;
};

const agentOf = async (
  load: typeof loadAgent,
  stores: CommandStores,
  customerId: number,
  shownId: string,
  field: string,
): Promise<Agent> => {
  const agentId = agentIdOf(shownId);
  const agent = agentId === undefined ? undefined : await load(stores, customerId, agentId);
  if (agent === undefined) throw new ApiError({ ...notFound('agent').body, field });
  return agent;
};

/** In one of the two forms of AdCP. */
const accountAt = (
  { accountId }: Agent,
  { brandDomain }: AdvertiserResource,
  operator: string,
  field: string,
): AccountReference => {
  if (accountId !== undefined) return { account_id: accountId };
  if (brandDomain !== undefined) return { brand: { domain: brandDomain }, operator };
  throw new ApiError({
    code: 'CONFLICT',
    message:
      'The request to the agent needs an account or a brand. Give the advertiser a brand, or register the agent with an accountId.',
    field,
  });
};
