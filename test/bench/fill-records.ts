import { shownAgentId } from '../../domain/agents/resource.ts';
import { runSql } from './bench-database.ts';
import { withoutIndexes } from './without-indexes.ts';

export interface FilledRecords {
  readonly advertiserId: number;
  /** An agent that has records, as the API shows it. */
  readonly agentId: string;
}

const AGENTS = 5;
/** The number of rows with each rare value. */
const RARE = 20;
const agentIdOf = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

/**
 * Writes `count` rows of the syndication read model as its projection would, one each millisecond, distributed over
 * agents. Most are COMPLETED event sources. A few are disabled or catalogs.
 */
export const fillRecords = async (
  url: string,
  { customerId, advertiserId, count }: { customerId: number; advertiserId: number; count: number },
): Promise<FilledRecords> => {
  const rare = Math.floor(count / RARE);
  await withoutIndexes(
    url,
    'syndication_records',
    `insert into syndication_records (customer_id, id, advertiser_id, resource_type, resource_id, agent_id, account,
       status, waiting, generation, revision, updated_at, body)
     select ${customerId}, record_id, ${advertiserId}, resource_type, resource_id, agent_id, '{"account_id":"a"}',
       status, false, 1, 2, at,
       json_build_object('recordId', record_id, 'customerId', ${customerId}, 'advertiserId', ${advertiserId},
         'resourceType', resource_type, 'resourceId', resource_id, 'agentId', agent_id,
         'account', json_build_object('account_id', 'a'), 'status', status,
         'generation', 1, 'request', null, 'atAgent', json_build_object('is', 'MAYBE'), 'errorMessage', null,
         'responseData', json_build_object('event_source_id', resource_id, 'action', 'created'),
         'createdAt', shown, 'updatedAt', shown, 'completedAt', shown)::text
     from (select gen_random_uuid() as record_id, 'r-' || (n / ${AGENTS}) as resource_id,
             ('00000000-0000-4000-8000-00000000000' || n % ${AGENTS})::uuid as agent_id,
             case when n % ${rare} = 7 then 'CATALOG' else 'EVENT_SOURCE' end as resource_type,
             case when n % ${rare} = 3 then 'DISABLED' else 'COMPLETED' end as status,
             timestamptz '2026-01-01 00:00:00Z' + n * interval '1 millisecond' as at,
             to_char(timestamp '2026-01-01' + n * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as shown
           from generate_series(1, ${count}) n) r`,
    `insert into syndication_counts (customer_id, advertiser_id, agent_id, resource_type, status, count)
     select customer_id, advertiser_id, agent_id, resource_type, status, count(*)
     from syndication_records group by 1, 2, 3, 4, 5`,
  );
  await runSql(url, 'vacuum analyze');
  return { advertiserId, agentId: shownAgentId(agentIdOf(1)) };
};
