import type { Pool } from 'pg';
import { JsonMembers, type SyndicationRecord } from '../../domain/syndication/resource.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import type { AtAgents, Holders } from '../../command/workers/syndication/at-agents.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';

/** @param pool not bound to an account */
export const createAtAgents = (pool: Pool): AtAgents => ({ holders: holders(pool), kept: kept(pool) });

/** False while a rebuild is below its earlier position: missing resources would be deleted at agents. */
const IS_WHOLE = `coalesce((select bool_and(position >= whole_at) from projection_checkpoints
                            where name in ('syndication', 'agents')), true)`;
const NOT_WHOLE_MS = 2_000;

const notWhole = (): TryAgainError =>
  new TryAgainError('The read models are being rebuilt: what agents have is not known yet.', {
    afterMs: NOT_WHOLE_MS,
    isTry: false,
  });

export const isWhole = async (pool: Pool): Promise<boolean> => {
  const { rows } = await pool.query<{ isWhole: boolean }>({
    name: 'syndication-whole',
    text: `select ${IS_WHOLE} as "isWhole"`,
  });
  return rows[0]?.isWhole === true;
};

/** An agent may be registered twice, e.g. with another token: a deletion at its URL affects both. */
const registrationsOf = (customerId: string, agentId: string): string => `registrations (id) as (
  select ${agentId}
  union
  select other.id from adcp_agents own
  join adcp_agents other on other.customer_id = own.customer_id
    and other.body::json ->> 'url' = own.body::json ->> 'url'
  where own.customer_id = ${customerId} and own.id = ${agentId}
)`;

/** The update has failed, so the older version stays. */
const IS_STILL_THERE = `(r.status = 'FAILED' and r.body::json -> 'atAgent' -> 'older' is not null)`;

interface KeptRow {
  readonly advertiser_id: number;
  readonly resource_id: string;
  readonly still_there: string | null;
  readonly has_failed: boolean;
}

/** One statement answers all jobs that start together. The wait for further jobs is bounded. */
const HOLDERS_TOGETHER = { batchMax: 50, inFlightMax: 4, waitMsMax: 50 };

const holders = (pool: Pool): AtAgents['holders'] => {
  const ask = coalesce(holdersOf(pool), HOLDERS_TOGETHER);
  return async (record) => {
    const { isWhole: isKnown, ...found } = await ask(record);
    if (!isKnown) throw notWhole();
    return found;
  };
};

/** Has the same id at the same account of the agent. Uses add the condition of their partial index. */
const IS_SAME = `r.customer_id = a.customer_id and r.agent_id = any(array(select id from registrations))
  and r.account = a.account and r.resource_type = a.resource_type and r.resource_id = a.resource_id
  and r.id <> a.record_id`;

type HoldersRow = Holders & { readonly isWhole: boolean };

const holdersOf =
  (pool: Pool) =>
  async (records: readonly SyndicationRecord[]): Promise<readonly HoldersRow[]> => {
    const { rows } = await pool.query<HoldersRow>({
      name: 'syndication-holders',
      text: `select ${IS_WHOLE} as "isWhole", h.*
             from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::int[])
               with ordinality as a (customer_id, agent_id, account, resource_type, resource_id, record_id,
                                     advertiser_id, n),
             lateral (
               with ${registrationsOf('a.customer_id', 'a.agent_id')}, found as (
                 select r.advertiser_id <> a.advertiser_id as is_other, r.waiting, r.status,
                   ${IS_STILL_THERE} as is_still_there
                 from syndication_records r
                 where ${IS_SAME} and (r.status <> 'DISABLED' or r.waiting)
               )
               select
                 exists (select from found where is_other and (status <> 'FAILED' or waiting or is_still_there))
                   as "isOtherAdvertisers",
                 exists (select from found where not is_other
                         and (status in ('PENDING', 'SYNCING', 'COMPLETED') or is_still_there))
                   as "isOtherRegistrations",
                 exists (select from found where status = 'FAILED')
                   or exists (select from syndication_records r where ${IS_SAME} and r.left_there) as "isUnsure"
             ) h order by a.n`,
      values: [
        int8Array(records.map(({ customerId }) => customerId)),
        uuidArray(records.map(({ agentId }) => agentId)),
        textArray(records.map(({ account }) => JSON.stringify(account))),
        textArray(records.map(({ resourceType }) => resourceType)),
        textArray(records.map(({ resourceId }) => resourceId)),
        uuidArray(records.map(({ recordId }) => recordId)),
        int4Array(records.map(({ advertiserId }) => advertiserId)),
      ],
    });
    return rows;
  };

const kept =
  (pool: Pool): AtAgents['kept'] =>
  async ({ customerId, agentId, account, resourceType }, countMax) => {
    if (!(await isWhole(pool))) throw notWhole();
    const { rows } = await pool.query<KeptRow>({
      name: 'syndication-kept',
      text: `with ${registrationsOf('$1', '$2::uuid')}
             select distinct on (r.advertiser_id, r.resource_id) r.advertiser_id, r.resource_id,
               case when r.status <> 'COMPLETED' then r.body::json -> 'atAgent' ->> 'older' end as still_there,
               r.status = 'FAILED' as has_failed
             from syndication_records r
             where r.customer_id = $1 and r.agent_id = any(array(select id from registrations))
               and r.account = $3 and r.resource_type = $4
               and (r.status <> 'DISABLED' or r.waiting)
               and (r.status in ('PENDING', 'SYNCING', 'COMPLETED') or ${IS_STILL_THERE})
             order by r.advertiser_id, r.resource_id, r.status = 'FAILED' limit $5`,
      values: [customerId, agentId, JSON.stringify(account), resourceType, countMax],
    });
    return rows.map(({ advertiser_id, resource_id, still_there, has_failed }) => ({
      hasFailed: has_failed,
      advertiserId: advertiser_id,
      resourceId: resource_id,
      stillThere: still_there === null ? undefined : JsonMembers.parse(JSON.parse(still_there)),
    }));
  };
