import type { Pool } from 'pg';
import type { Installation } from '../../../app/installation.ts';
import { syndicationEvents, type SyndicationEvent } from '../../../domain/syndication/events.ts';
import type { SyndicationResource } from '../../../domain/syndication/resource.ts';
import { evolve, initialState, type SyndicationState } from '../../../domain/syndication/syndication.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import {
  categoryOf,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../../shared/event-store/event-store.ts';
import { legalSteps } from '../../support/legal-transitions.ts';
import type { AgentState } from '../../support/sandbox-agent.ts';
import { keyOf, TRIES_MAX, type Buyer } from './syndicating-buyer.ts';

/** Compares what the log, the records and the agents have after a run. */

/** Each must be empty or 0. */
export interface SyndicationFindings {
  readonly notInLastState: number;
  readonly illegalTransitions: readonly string[];
  /** Records with their agent. */
  readonly unexpectedAtAgent: readonly string[];
  readonly missingAtAgent: number;
  /** Audiences whose members differ between the agent and the service. */
  readonly otherMembers: number;
  /** Effects of one call after the first. */
  readonly repeatedEffects: number;
  /**
   * Keys of calls for an event source or a catalog that no started generation of a record has. Each generation has
   * one key and each key one effect, so a generation has at most one effect.
   */
  readonly otherKeys: readonly string[];
  /** Records that FAILED for reasons other than the planned behaviour of agents and kills. */
  readonly failed: readonly string[];
}

interface SyndicationCheck {
  readonly records: readonly SyndicationResource[];
  /** Events of each record. */
  readonly streams: ReadonlyMap<string, readonly RecordedEvent[]>;
  /** In the order of the agents. */
  readonly states: readonly AgentState[];
  readonly findings: SyndicationFindings;
}

/** @param wanted the last requested state, keyed by record */
export const checkSyndication = async (
  { store, pool }: Pick<Installation, 'store' | 'pool'>,
  buyer: Buyer,
  wanted: ReadonlyMap<string, boolean>,
): Promise<SyndicationCheck> => {
  const records = await recordsOf(buyer);
  const streams = await historyOf(store);
  const states = await Promise.all(buyer.agents.map(({ agent }) => agent.state()));
  const findings = {
    notInLastState: records.filter((record) => record.enabled !== wanted.get(keyOf(record))).length,
    illegalTransitions: [...streams.values()].flatMap(illegalTransitionsOf),
    otherKeys: otherKeysOf(
      states.flatMap(({ takes }) => takes),
      streams,
    ),
    failed: records.filter(isUnexplained).map((one) => `${keyOf(one)}: ${one.errorMessage}`),
    ...(await compareWithAgents(records, buyer, await membersOf(pool))),
  };
  return { records, streams, states, findings };
};

/** @returns the work that still waits after `msMax`, with its list entry and record */
export const settle = async (pool: Pool, msMax: number): Promise<readonly string[]> => {
  const waiting = async (): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ said: string }>(
      `select format('%s %s@%s gen %s of %s, due in %s s, leased for %s s, attempts %s, lost %s, asked at %s, %s, submitted %s, because %s',
                r.status, r.resource_id, r.account, w.revision, r.generation,
                round(extract(epoch from w.due_at - now()), 1), round(extract(epoch from w.leased_until - now()), 1),
                w.attempts, w.lost, w.asked_at, w.data, r.body::json -> 'submitted', w.last_error) as said
       from work_list w
       left join syndication_records r on r.customer_id = w.customer_id and r.id = w.key
       where w.kind = 'syndication'`,
    );
    return rows.map(({ said }) => said);
  };
  const endMs = performance.now() + msMax;
  while (performance.now() < endMs && (await waiting()).length > 0) await sleep(200);
  return waiting();
};

/** A busy machine may answer 503 also to reads. */
export const recordsOf = async ({ api, advertiser }: Buyer): Promise<readonly SyndicationResource[]> => {
  let text = '';
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await api.get<{ items: SyndicationResource[] }>(
      `/advertisers/${advertiser}/syndication-status?limit=100`,
    );
    if (answer.status === 200) return answer.body.data.items;
    text = answer.text;
    await sleep(250);
  }
  throw new Error(`reading the records never succeeded: ${text}`);
};

const historyOf = async (store: EventStore): Promise<Map<string, RecordedEvent[]>> => {
  const streams = new Map<string, RecordedEvent[]>();
  for (let after = START; ;) {
    const page = await store.readAll({ after, limit: 1_000 });
    const last = page.at(-1);
    if (last === undefined) return streams;
    for (const event of page) {
      if (categoryOf(event.stream) !== 'syndication') continue;
      streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
    }
    after = last.position;
  }
};

/** Keys of calls that do not belong to a started generation: each generation has one key (`deliver.ts`). */
const otherKeysOf = (
  keys: readonly string[],
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
): readonly string[] => {
  const known = new Set(
    [...streams].flatMap(([stream, events]) =>
      events
        .filter(({ type }) => type === 'SyndicationStarted')
        .map(({ data }) => syndicationEvents.SyndicationStarted.data.parse(data).generation)
        .map((generation) => derivedId(recordIdIn(stream), `${generation}`)),
    ),
  );
  return [...new Set(keys.filter((key) => !known.has(key)))];
};

const recordIdIn = (stream: string): string => stream.replace(/^syndication-\d+-/, '');

/** Planned causes of FAILED: an agent that was always busy, or kills that ended five workers of one job. */
const isUnexplained = ({ status, errorMessage }: SyndicationResource): boolean =>
  status === 'FAILED' && !/Too many calls|although it tried often/.test(errorMessage ?? '');

const illegalTransitionsOf = (events: readonly RecordedEvent[]): readonly string[] => {
  let state: SyndicationState = initialState;
  return events.flatMap(({ type, data, metadata, stream }) => {
    const known = syndicationEvents[type as keyof typeof syndicationEvents];
    const event = { type, data: known.data.parse(data), occurredAt: metadata.occurredAt } as SyndicationEvent;
    const before = state.status;
    state = evolve(state, event);
    const transition = `${before}>${state.status}`;
    return legalSteps.has(transition) ? [] : [`${stream}: ${transition}`];
  });
};

/** Ids of the members of each audience. */
const membersOf = async (pool: Pool): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await pool.query<{ key: string; ids: string[] }>(
    `select a.key, array_agg(m.external_id order by m.external_id) as ids
     from audiences a join audience_members m on m.customer_id = a.customer_id and m.audience_id = a.id
     group by a.key`,
  );
  return new Map(rows.map(({ key, ids }) => [key, ids.join()]));
};

const compareWithAgents = async (
  records: readonly SyndicationResource[],
  { agents }: Buyer,
  members: ReadonlyMap<string, string>,
) => {
  const unexpectedAtAgent: string[] = [];
  let missingAtAgent = 0;
  let otherMembers = 0;
  let repeatedEffects = 0;
  for (const { id, agent, accountId } of agents) {
    const { effects, audiences } = await agent.state();
    repeatedEffects += effects.length - new Set(effects).size;
    const there = new Set([
      ...(await agent.eventSources(accountId)),
      ...(await agent.catalogs(accountId)),
      ...Object.keys(audiences[JSON.stringify({ account_id: accountId })] ?? {}),
    ]);
    for (const record of records.filter(({ adcpAgentId }) => adcpAgentId === id)) {
      const { status, resourceType, resourceId } = record;
      if (status === 'COMPLETED' && !there.has(resourceId)) missingAtAgent += 1;
      if (status === 'DISABLED' && there.has(resourceId) && !isLeftThere(record)) {
        unexpectedAtAgent.push(`${keyOf(record)}: ${JSON.stringify(record.responseData)}`);
      }
      if (status === 'COMPLETED' && resourceType === 'AUDIENCE') {
        const ids = Object.keys((await agent.members(accountId, resourceId)) ?? {}).sort();
        if (ids.join() !== members.get(resourceId)) otherMembers += 1;
      }
    }
  }
  return { unexpectedAtAgent, missingAtAgent, otherMembers, repeatedEffects };
};

/**
 * Allowed remainders: the last catalog, which no agent can delete, and withdrawals that the record reports as abandoned
 * after many kills.
 */
const isLeftThere = ({ resourceType, responseData }: SyndicationResource): boolean => {
  const withdrawal = JSON.stringify(responseData?.['withdrawal'] ?? null);
  const isLastCatalog = resourceType === 'CATALOG' && withdrawal.includes('its last resource');
  return isLastCatalog || withdrawal.includes('although it tried often');
};
