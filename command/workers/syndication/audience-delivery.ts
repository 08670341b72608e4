import type { Pool } from 'pg';
import { z } from 'zod';
import { AUDIENCE } from '../../../domain/audiences/audience.ts';
import {
  AccountReference,
  JsonMembers,
  type SyndicationRecord,
} from '../../../domain/syndication/resource.ts';
import { derivedId, resourceIdOf } from '../../../shared/aggregate/ids.ts';
import type { Purgeable } from '../../../shared/async/purge-regularly.ts';
import { TryAgainError } from './try-again.ts';

export interface DeliveryPart {
  readonly idempotencyKey: string;
  readonly request: JsonMembers;
  /** Asks the agent to delete the resource before it is sent again. */
  readonly isDrop: boolean;
  readonly isLast: boolean;
  /** Advances to the next part, after the agent has accepted this one. */
  taken(): Promise<void>;
}

export interface AudienceParts extends Purgeable {
  /**
   * Parts of at most `MEMBERS_MAX` members, stored before they are sent, so that every attempt of every
   * worker sends identical bytes. Members come in the order of their changes, up to the delivery's revision.
   * @param record a started record; its request contains the scope
   * @throws TryAgainError until the read model has reached the revision
   */
  of(record: SyndicationRecord): AsyncIterable<DeliveryPart>;
  forget(record: SyndicationRecord): Promise<void>;
}

export interface MembersQuestion {
  readonly customerId: number;
  readonly audienceId: string;
  readonly afterRevision: string;
  readonly afterId: string;
  readonly revision: number;
  /** False for an agent that has no members yet. */
  readonly withRemovals: boolean;
  readonly rowsMax: number;
}

export type FindMembers = (question: MembersQuestion) => Promise<{
  /** The revision of the audience in the same snapshot as the members; -1 during a rebuild that has not reached it. */
  readonly reached: number;
  /** JSON of members, in the order of their changes: id, e-mail, phone, uids, revision, whether it is removed. */
  readonly members: string;
}>;

const Request = z.object({
  account: AccountReference,
  audiences: z.tuple([z.object({ audience_id: z.string(), revision: z.int() }).catchall(z.json())]),
  since: z.int().optional(),
  anew: z.boolean().optional(),
});

/** Per call. AdCP recommends at most 100,000, but agents' servers accept requests of 1 or 2 MB. */
const MEMBERS_MAX = 1_000;
/** Characters of JSON per call, the most that `MEMBERS_MAX` members without uids need. */
const MEMBERS_CHARS_MAX = 400_000;
const BEHIND_MS = 300;
/** For abandoned deliveries. Jobs are given up long before. */
const KEPT_DAYS = 2;

/** @param pool not bound to an account */
export const createAudienceParts = (
  pool: Pick<Pool, 'query'>,
  findMembers: FindMembers,
  membersMax: number = MEMBERS_MAX,
): AudienceParts => ({
  of: async function* (record) {
    await open(pool, record);
    for (;;) {
      let row = await underWay(pool, record);
      if (row?.body === null) {
        await writePart(pool, findMembers, record, row, membersMax);
        row = await underWay(pool, record);
      }
      // Another worker has completed the delivery.
      if (row === undefined) return;
      if (row.body === null) continue;
      const { part, body, is_last: isLast, touched_at: writtenAt } = row;
      yield {
        idempotencyKey: derivedId(record.recordId, `${record.generation}:${part}:${body}`),
        request: JsonMembers.parse(JSON.parse(body)),
        isDrop: part === 0 && requestOf(record).anew === true,
        isLast,
        // The last part stays, so that the agent repeats its answer if recording the result fails.
        taken: () => (isLast ? Promise.resolve() : advance(pool, record, part, writtenAt)),
      };
      if (isLast) return;
    }
  },
  forget: async ({ customerId, recordId, generation }) => {
    await pool.query({
      name: 'syndication-deliveries-forget',
      text: `delete from syndication_deliveries where customer_id = $1 and record_id = $2 and generation <= $3`,
      values: [customerId, recordId, generation],
    });
  },
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'syndication-deliveries-purge',
      text: `delete from syndication_deliveries d using (
               select customer_id, record_id from syndication_deliveries
               where touched_at < now() - make_interval(days => $2)
               order by touched_at limit $1 for update skip locked
             ) old
             where d.customer_id = old.customer_id and d.record_id = old.record_id`,
      values: [rowsMax, KEPT_DAYS],
    });
    return rowCount ?? 0;
  },
});

const requestOf = ({ request }: SyndicationRecord): z.output<typeof Request> => Request.parse(request);

interface Row {
  /** Guards against writing a page that was read before the row changed. */
  readonly touched_at: string;
  readonly part: number;
  readonly after_revision: string;
  readonly after_id: string;
  readonly body: string | null;
  readonly is_last: boolean;
}

const open = async (pool: Pick<Pool, 'query'>, record: SyndicationRecord): Promise<void> => {
  await pool.query({
    name: 'syndication-deliveries-open',
    text: `insert into syndication_deliveries as d (customer_id, record_id, generation, after_revision)
           values ($1, $2, $3, $4)
           on conflict (customer_id, record_id) do update
             set generation = excluded.generation, part = 0, after_revision = excluded.after_revision,
               after_id = '', body = null, is_last = false, touched_at = now()
             where d.generation < excluded.generation`,
    values: [record.customerId, record.recordId, record.generation, (requestOf(record).since ?? -1) + 1],
  });
};

const underWay = async (
  pool: Pick<Pool, 'query'>,
  { customerId, recordId, generation }: SyndicationRecord,
): Promise<Row | undefined> => {
  const { rows } = await pool.query<Row>({
    name: 'syndication-deliveries-part',
    text: `select touched_at::text, part, after_revision, after_id, body, is_last from syndication_deliveries
           where customer_id = $1 and record_id = $2 and generation = $3`,
    values: [customerId, recordId, generation],
  });
  return rows[0];
};

/** The first worker to store the part wins. */
const writePart = async (
  pool: Pick<Pool, 'query'>,
  findMembers: FindMembers,
  record: SyndicationRecord,
  row: Row,
  membersMax: number,
): Promise<void> => {
  const { account, audiences, anew = false } = requestOf(record);
  const [{ revision: _, ...audience }] = audiences;
  const page =
    row.part === 0 && anew
      ? { body: { audience_id: audience.audience_id, delete: true }, ends: undefined, isLast: false }
      : await readPage(findMembers, record, row, membersMax, audience);
  await pool.query({
    name: 'syndication-deliveries-write',
    text: `update syndication_deliveries
           set body = $5, next_revision = coalesce($6, after_revision), next_id = coalesce($7, after_id),
             is_last = $8, touched_at = now()
           where customer_id = $1 and record_id = $2 and generation = $3 and part = $4 and body is null
             and touched_at = $9::timestamptz`,
    values: [
      record.customerId,
      record.recordId,
      record.generation,
      row.part,
      JSON.stringify({ account, audiences: [page.body] }),
      page.ends?.revision,
      page.ends?.id,
      page.isLast,
      row.touched_at,
    ],
  });
};

interface Page {
  readonly body: JsonMembers;
  readonly ends: { readonly revision: number; readonly id: string } | undefined;
  readonly isLast: boolean;
}

const Uids = z.array(z.tuple([z.string(), z.string()]));
const Members = z.array(
  z.tuple([z.string(), z.string().nullable(), z.string().nullable(), Uids.nullable(), z.int(), z.boolean()]),
);
type Member = z.output<typeof Members>[number];

const readPage = async (
  findMembers: FindMembers,
  record: SyndicationRecord,
  row: Row,
  membersMax: number,
  audience: JsonMembers,
): Promise<Page> => {
  const { customerId, advertiserId, resourceId } = record;
  const { audiences, since } = requestOf(record);
  const [{ revision }] = audiences;
  const audienceId = resourceIdOf(AUDIENCE, customerId, advertiserId, resourceId);
  const found = await findMembers({
    customerId,
    audienceId,
    afterRevision: row.after_revision,
    afterId: row.after_id,
    revision,
    withRemovals: since !== undefined,
    rowsMax: membersMax + 1,
  });
  if (found.reached < revision) {
    throw new TryAgainError('The audience is not in the read model yet.', {
      afterMs: BEHIND_MS,
      isTry: false,
    });
  }
  const members = Members.parse(JSON.parse(found.members));
  const some = inOneCall(members.slice(0, membersMax));
  const add = some.filter(([, , , , , gone]) => !gone).map(memberOf);
  const remove = some.filter(([, , , , , gone]) => gone).map(memberOf);
  const last = some.at(-1);
  return {
    body: { ...audience, ...(add.length === 0 ? {} : { add }), ...(remove.length === 0 ? {} : { remove }) },
    ends: last === undefined ? undefined : { revision: last[4], id: last[0] },
    isLast: some.length === members.length,
  };
};

const inOneCall = (members: readonly Member[]): readonly Member[] => {
  let chars = 0;
  const end = members.findIndex((member) => {
    chars += JSON.stringify(memberOf(member)).length + 1;
    return chars > MEMBERS_CHARS_MAX;
  });
  return end === -1 ? members : members.slice(0, end);
};

const memberOf = ([id, email, phone, uids]: Member): JsonMembers => ({
  external_id: id,
  ...(email === null ? {} : { hashed_email: email }),
  ...(phone === null ? {} : { hashed_phone: phone }),
  ...(uids === null ? {} : { uids: uids.map(([type, value]) => ({ type, value })) }),
});

const advance = async (
  pool: Pick<Pool, 'query'>,
  { customerId, recordId, generation }: SyndicationRecord,
  part: number,
  writtenAt: string,
): Promise<void> => {
  await pool.query({
    name: 'syndication-deliveries-advance',
    text: `update syndication_deliveries
           set part = part + 1, after_revision = next_revision, after_id = next_id, body = null, touched_at = now()
           where customer_id = $1 and record_id = $2 and generation = $3 and part = $4 and body is not null
             and touched_at = $5::timestamptz`,
    values: [customerId, recordId, generation, part, writtenAt],
  });
};
