import type { Pool } from 'pg';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { int8Array, textArray, uuidArray } from '../../../shared/postgres/binary-array.ts';

/** A creative that may have to be submitted. */
export interface Submission {
  readonly customerId: number;
  /** UUID. */
  readonly creativeId: string;
  /** Of the event that put it on the list: names what is done about it, however often that is tried. */
  readonly position: string;
  /** Of the first event that did, and that nobody has looked at since. */
  readonly since: string;
}

/** The command that submits a creative: the same for whoever takes it from the list, however often. */
export const submissionId = ({ creativeId, position }: Pick<Submission, 'creativeId' | 'position'>): string =>
  derivedId(creativeId, `submit:${position}`);

/** What the read model `sellers` lists for workers. Many may take from it at once. */
export interface SubmissionList {
  /** At most `countMax` of what is due, of every account first one. What is not done is due again after a while. */
  take(countMax: number): Promise<readonly Submission[]>;
  /**
   * Takes off the list what nothing newer has come up for. Of the others, what was looked at is none of those any more that
   * nobody has looked at.
   */
  done(submissions: readonly Submission[]): Promise<void>;
}

const AGAIN_SECONDS = 15;
/** Of up to 1,000 creatives each. */
const CAMPAIGNS_MAX = 5;
const CREATIVES_MAX = 1_000;

/** What the other read models hold as well, of what this one lists. */
const REACHED = `coalesce((select case when count(*) = 2 then min(position collate "C") end
  from projection_checkpoints where name in ('campaigns', 'creatives')), '-') collate "C"`;

/** Of an account of which they leave something out, they cannot say what is not there. */
const IS_COMPLETE = `not exists (select from parked_streams p
  where p.projection in ('campaigns', 'creatives') and p.customer_id = submission_work.customer_id)`;

/** @param pool that sees the rows of all accounts */
export const createSubmissionList = (pool: Pool): SubmissionList => ({
  take: async (countMax) => {
    const { rows } = await pool.query<{ any: boolean }>({
      name: 'submission-work-any',
      text: 'select exists (select from submission_work where due_at <= now()) as any',
    });
    if (rows[0]?.any !== true) return [];
    await listCreatives(pool);
    await dropIdle(pool);
    return takeDue(pool, countMax);
  },
  done: async (submissions) => {
    const left = await settle(pool, submissions, 'skip locked');
    try {
      // What is being given a newer position at this moment: what becomes of it is seen when it has it.
      await settle(pool, left, '');
    } catch (error) {
      // Held for long, by a stream that is projected again, say: it stays on the list, and is looked at once more.
      if (!isNotReached(error)) throw error;
    }
  },
});

/** A statement that was cancelled by its time, or to end a deadlock. */
const isNotReached = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '57014' || error.code === '40P01');

/** Just behind a position: before the next one, whatever that is. */
const behind = (position: string): string => `${position} || ' '`;

/**
 * In the order of the read model, so that the two hardly ever wait for each other.
 * @returns those whose rows were not reached
 */
const settle = async (
  pool: Pool,
  submissions: readonly Submission[],
  locked: 'skip locked' | '',
): Promise<readonly Submission[]> => {
  if (submissions.length === 0) return [];
  const { rows } = await pool.query<{ id: string }>({
    name: `submission-work-done-${locked}`,
    text: `with done as (
             select w.customer_id, w.id, w.position, d.position as looked_at
             from unnest($1::bigint[], $2::uuid[], $3::text[]) as d(customer_id, id, position)
             join submission_work w on w.customer_id = d.customer_id and w.kind = 'creative' and w.id = d.id
             order by w.customer_id::text collate "C", w.id
             for update of w ${locked}
           ), over as (
             delete from submission_work w using done
             where w.customer_id = done.customer_id and w.kind = 'creative' and w.id = done.id
               and done.position = done.looked_at
           ), moved as (
             update submission_work w set since = greatest(w.since, ${behind('done.looked_at')})
             from done
             where w.customer_id = done.customer_id and w.kind = 'creative' and w.id = done.id
               and done.position > done.looked_at
           )
           select id from done`,
    values: [
      int8Array(submissions.map(({ customerId }) => customerId)),
      uuidArray(submissions.map(({ creativeId }) => creativeId)),
      textArray(submissions.map(({ position }) => position)),
    ],
  });
  const reached = new Set(rows.map(({ id }) => id));
  return submissions.filter(({ creativeId }) => !reached.has(creativeId));
};

/**
 * In place of a campaign that was launched, the creatives in it: all that had been attached before are in the rows by
 * then, and any that is attached later is listed by its own event. They are written in the order of the read model, so
 * that the two never wait for each other.
 */
const listCreatives = async (pool: Pool): Promise<void> => {
  await pool.query({
    name: 'submission-work-campaigns',
    text: `with due as (
             select customer_id, id, position, coalesce(since, position) as since from submission_work
             where kind = 'campaign' and due_at <= now() and position <= ${REACHED} and ${IS_COMPLETE}
             order by due_at limit $1 for update skip locked
           ), listed as (
             insert into submission_work as w (customer_id, kind, id, position, since)
             select d.customer_id, 'creative', l.creative_id, max(d.position), min(d.since)
             from due d join creative_campaigns l
               on l.customer_id = d.customer_id and l.campaign_id = d.id and not l.archived
             group by d.customer_id, l.creative_id order by d.customer_id::text collate "C", l.creative_id
             on conflict (customer_id, kind, id) do update
               set position = greatest(w.position, excluded.position),
                 since = least(coalesce(w.since, w.position), excluded.since),
                 due_at = case when w.position < excluded.position then now() else w.due_at end
           )
           delete from submission_work w using due
           where w.customer_id = due.customer_id and w.kind = 'campaign' and w.id = due.id`,
    values: [CAMPAIGNS_MAX],
  });
};

/** Most creatives are made before their campaign runs: nobody has to look at these one by one. */
const dropIdle = async (pool: Pool): Promise<void> => {
  await pool.query({
    name: 'submission-work-idle',
    text: `with due as (
             select customer_id, id from submission_work
             where kind = 'creative' and due_at <= now() and position <= ${REACHED} and ${IS_COMPLETE}
             order by due_at limit $1 for update skip locked
           )
           delete from submission_work w using due
           where w.customer_id = due.customer_id and w.kind = 'creative' and w.id = due.id
             and not exists (
               select from creative_campaigns l join campaigns c
                 on c.customer_id = l.customer_id and c.id = l.campaign_id and c.phase = 'active'
               where l.customer_id = due.customer_id and l.creative_id = due.id and not l.archived)`,
    values: [CREATIVES_MAX],
  });
};

const takeDue = async (pool: Pool, countMax: number): Promise<readonly Submission[]> => {
  const { rows } = await pool.query<Submission>({
    name: 'submission-work-take',
    text: `with recursive accounts (customer_id) as (
             (select customer_id from submission_work where kind = 'creative' order by customer_id limit 1)
             union all
             select (select w.customer_id from submission_work w
                     where w.kind = 'creative' and w.customer_id > a.customer_id order by w.customer_id limit 1)
             from accounts a where a.customer_id is not null
           ), due as (
             select first.* from accounts a, lateral (
               select w.customer_id, w.id, w.due_at, row_number() over (order by w.due_at) as turn
               from submission_work w
               where w.kind = 'creative' and w.customer_id = a.customer_id and w.due_at <= now()
                 and w.position <= ${REACHED}
               order by w.due_at limit $1
             ) first
             where a.customer_id is not null order by first.turn, first.due_at limit $1
           ), taken as (
             select w.customer_id, w.id from due
             join submission_work w on w.customer_id = due.customer_id and w.kind = 'creative' and w.id = due.id
             where w.due_at <= now() for update of w skip locked
           )
           update submission_work w set due_at = now() + make_interval(secs => $2) from taken
           where w.customer_id = taken.customer_id and w.kind = 'creative' and w.id = taken.id
           returning w.customer_id::float8 as "customerId", w.id as "creativeId", w.position,
             coalesce(w.since, w.position) as since`,
    values: [countMax, AGAIN_SECONDS],
  });
  return rows;
};
