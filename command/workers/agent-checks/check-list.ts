import type { Pool } from 'pg';

/** An agent that is to be asked now. */
export interface DueCheck {
  readonly customerId: number;
  readonly agentId: string;
}

/** When unreachable agents are asked again: rows of the agents read model (`projections/agents.ts`). */
export interface CheckList {
  /**
   * At most so many of what is due, of the accounts in turn. Each is due again after a lease, unless an event has said
   * by then what came of it: so a worker that dies while it asks loses nothing.
   */
  claim(countMax: number): Promise<readonly DueCheck[]>;
}

/** Longer than asking an agent and recording its answer may take. */
const LEASE_SECONDS = 20;
/** Rows that one claim looks at, oldest first, to choose from the accounts in turn. */
const LOOKED_AT_MAX = 1_000;

interface ClaimedRow {
  readonly customer_id: string;
  readonly id: string;
}

/** @param pool sees the rows of all accounts */
export const createCheckList = (pool: Pool): CheckList => ({
  claim: async (countMax) => {
    const { rows } = await pool.query<ClaimedRow>({
      name: 'agent-checks-claim',
      text: `with due as (
               select customer_id, id, due_at from agent_checks where due_at <= now() order by due_at limit $2
             ), first as (
               select customer_id, id
               from (select *, row_number() over (partition by customer_id order by due_at) as turn from due) ranked
               order by turn, due_at limit $1
             ), claimed as (
               select c.customer_id, c.id from agent_checks c join first using (customer_id, id)
               where c.due_at <= now()
               for update of c skip locked
             )
             update agent_checks c set due_at = now() + make_interval(secs => $3)
             from claimed where c.customer_id = claimed.customer_id and c.id = claimed.id
             returning c.customer_id, c.id`,
      values: [countMax, LOOKED_AT_MAX, LEASE_SECONDS],
    });
    return rows.map(({ customer_id, id }) => ({ customerId: Number(customer_id), agentId: id }));
  },
});
