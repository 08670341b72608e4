import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { loadAudience } from '../../command/audiences/handler.ts';
import { storeMembers } from '../../command/audiences/audience-members.ts';
import { findAudienceMembers } from '../../app/lookups/find-members.ts';
import {
  createAudienceParts,
  type DeliveryPart,
} from '../../command/workers/syndication/audience-delivery.ts';
import { type AudienceMember } from '../../domain/audiences/events.ts';
import { AUDIENCE, audienceAggregate, audienceStream } from '../../domain/audiences/audience.ts';
import { restartDeliveries } from '../../command/workers/syndication/restart-deliveries.ts';
import type { SyndicationRecord } from '../../domain/syndication/syndication.ts';
import { audiencesProjection } from '../../projections/audiences.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { deleteMembers } from '../../projections/delete-members.ts';
import { createPool, inTransaction } from '../../shared/postgres/pool.ts';
import { createRandom, type Random } from '../faults/kit/random.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { silent } from '../support/toy-projection.ts';

const SEED = Number(process.env['FAULT_SEED'] ?? 1);
const RUNS = Number(process.env['PARTS_RUNS'] ?? 12);
const PART = 5;
const PEOPLE = 30;

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connectionString: database.url, applicationName: 'test', max: 4 }, silent);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

interface Audience {
  readonly sync: (add: readonly AudienceMember[], remove: readonly string[]) => Promise<void>;
  /** Brings the read model up to date. */
  readonly project: () => Promise<void>;
  readonly revision: () => Promise<number>;
  /** Hashes by id, from the read model. */
  readonly members: () => Promise<Readonly<Record<string, string>>>;
}

let advertisers = 0;
const customerId = 7;
const newAudience = async (): Promise<Audience & { readonly advertiserId: number }> => {
  const store: EventStore = createMemoryEventStore();
  const advertiserId = (advertisers += 1);
  const audienceId = resourceIdOf(AUDIENCE, customerId, advertiserId, 'vip');
  const now = new Date().toISOString();
  const context = { customerId, actor: 'test', requestId: 'test', now };
  let reached: Position = START;
  return {
    advertiserId,
    sync: async (add, remove) => {
      const commandId = randomUUID();
      const batch = await storeMembers(store, randomUUID(), { add, remove }, context);
      const who = { audienceId, customerId, advertiserId, key: 'vip' };
      await executeCommand(store, audienceAggregate, {
        stream: audienceStream(customerId, audienceId),
        command: { type: 'SyncAudience', now, ...who, batch },
        context: { ...context, commandId },
      });
    },
    project: async () => {
      const events = await store.readAll({ after: reached, limit: 1_000 });
      const client = await pool.connect();
      try {
        await client.query('begin');
        await audiencesProjection.apply(client, events);
        await client.query('commit');
      } finally {
        client.release();
      }
      reached = events.at(-1)?.position ?? reached;
    },
    revision: async () =>
      (await loadAudience({ store, snapshots: NO_SNAPSHOTS }, customerId, audienceId))?.revision ?? -1,
    members: async () => {
      const { rows } = await pool.query<{ id: string; hash: string }>(
        `select external_id as id, encode(hashed_email, 'hex') as hash from audience_members
         where customer_id = $1 and audience_id = $2`,
        [customerId, audienceId],
      );
      return Object.fromEntries(rows.map(({ id, hash }) => [id, hash]));
    },
  };
};

const NO_SNAPSHOTS = { every: 1_000_000, load: async () => undefined, save: async () => undefined };

const recordOf = (advertiserId: number, generation: number, revision: number, scope: object) =>
  ({
    recordId: resourceIdOf('record', customerId, advertiserId, 'vip'),
    customerId,
    advertiserId,
    resourceType: 'AUDIENCE',
    resourceId: 'vip',
    generation,
    request: {
      account: { account_id: 'acct' },
      audiences: [{ audience_id: 'vip', name: 'VIP', revision }],
      ...scope,
    },
  }) as unknown as SyndicationRecord;

const person = (n: number, version = 0): AudienceMember => [
  `p${n}`,
  (n * 16 + version).toString(16).padStart(64, '0'),
  null,
  null,
];

interface SentAudience {
  readonly audience_id: string;
  readonly delete?: boolean;
  readonly add?: readonly { readonly external_id: string; readonly hashed_email: string }[];
  readonly remove?: readonly { readonly external_id: string; readonly hashed_email: string }[];
}

/** Executes each idempotency key once, and expects one request per key. */
const newAgent = () => {
  const seen = new Map<string, string>();
  let members: Map<string, string> | undefined;
  return {
    calls: () => seen.size,
    members: () => (members === undefined ? undefined : Object.fromEntries(members)),
    receive: ({ idempotencyKey, request }: DeliveryPart): void => {
      const text = JSON.stringify(request);
      const before = seen.get(idempotencyKey);
      expect(before ?? text).toBe(text);
      seen.set(idempotencyKey, text);
      if (before !== undefined) return;
      const [sent] = request['audiences'] as unknown as readonly [SentAudience];
      expect((sent.add?.length ?? 0) + (sent.remove?.length ?? 0)).toBeLessThanOrEqual(PART);
      if (sent.delete === true) members = undefined;
      else members ??= new Map();
      for (const { external_id, hashed_email } of sent.add ?? []) members?.set(external_id, hashed_email);
      for (const { external_id } of sent.remove ?? []) members?.delete(external_id);
    },
  };
};

describe('the parts of a delivery of an audience', () => {
  it('are bounded, occur once, and contain every member', async () => {
    const audience = await newAudience();
    await audience.sync(
      Array.from({ length: 2 * PART + 1 }, (_, n) => person(n)),
      [],
    );
    await audience.project();
    const parts = createAudienceParts(pool, findAudienceMembers(pool), PART);
    const record = recordOf(audience.advertiserId, 1, await audience.revision(), {});
    const agent = newAgent();
    const last: boolean[] = [];
    for await (const part of parts.of(record)) {
      agent.receive(part);
      last.push(part.isLast);
      await part.taken();
    }
    expect(last).toEqual([false, false, true]);
    expect(agent.members()).toEqual(await audience.members());
    await parts.forget(record);
    expect((await pool.query('select from syndication_deliveries')).rows).toHaveLength(0);
  });

  it('wait for the read model, and stop after their generation', async () => {
    const audience = await newAudience();
    await audience.sync([person(1)], []);
    const parts = createAudienceParts(pool, findAudienceMembers(pool), PART);
    const first = async (generation: number): Promise<IteratorResult<DeliveryPart, unknown>> => {
      const record = recordOf(audience.advertiserId, generation, await audience.revision(), {});
      return parts.of(record)[Symbol.asyncIterator]().next();
    };
    await expect(first(2)).rejects.toThrow('not in the read model');
    await audience.project();
    expect((await first(2)).done).toBe(false);
    expect((await first(1)).done).toBe(true);
  });

  it('identify members to remove by the hashes that the agent received', async () => {
    const audience = await newAudience();
    await audience.sync([person(1), person(2)], []);
    await audience.project();
    const since = await audience.revision();
    await audience.sync([], ['p1']);
    await audience.project();
    const record = recordOf(audience.advertiserId, 2, await audience.revision(), { since });
    for await (const { request } of createAudienceParts(pool, findAudienceMembers(pool), PART).of(record)) {
      const remove = [{ external_id: 'p1', hashed_email: person(1)[1] }];
      expect(request['audiences']).toEqual([{ audience_id: 'vip', name: 'VIP', remove }]);
    }
  });

  it('identify members by their universal ids, also to remove them', async () => {
    const audience = await newAudience();
    const uids: AudienceMember[3] = [['uid2', 'a/b+c==']];
    await audience.sync([['p1', null, null, uids]], []);
    await audience.project();
    const since = await audience.revision();
    const requests = async (scope: object) => {
      const revision = await audience.revision();
      const record = recordOf(audience.advertiserId, 1 + revision, revision, scope);
      const all: unknown[] = [];
      for await (const { request } of createAudienceParts(pool, findAudienceMembers(pool), PART).of(record))
        all.push(request['audiences']);
      return all;
    };
    const sent = { external_id: 'p1', uids: [{ type: 'uid2', value: 'a/b+c==' }] };
    expect(await requests({})).toEqual([[{ audience_id: 'vip', name: 'VIP', add: [sent] }]]);
    await audience.sync([], ['p1']);
    await audience.project();
    expect(await requests({ since })).toEqual([[{ audience_id: 'vip', name: 'VIP', remove: [sent] }]]);
  });

  it('stay below the body limit of common servers, for ids of any length', async () => {
    const audience = await newAudience();
    const uids = (n: number): AudienceMember[3] =>
      Array.from({ length: 10 }, (_, m) => ['other', `${n}-${m}-`.padEnd(512, 'x')] as [string, string]);
    await audience.sync(
      Array.from({ length: 150 }, (_, n) => [`p${n}`, null, null, uids(n)] satisfies AudienceMember),
      [],
    );
    await audience.project();
    const record = recordOf(audience.advertiserId, 1, await audience.revision(), {});
    const [sizes, ids]: [number[], Set<string>] = [[], new Set()];
    for await (const { request, taken } of createAudienceParts(pool, findAudienceMembers(pool)).of(record)) {
      sizes.push(Buffer.byteLength(JSON.stringify(request)));
      const [{ add = [] }] = request['audiences'] as unknown as readonly [SentAudience];
      for (const { external_id } of add) ids.add(external_id);
      await taken();
    }
    expect(ids.size).toBe(150);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(410_000);
  });

  it('omit a removed member, even if a worker had already read that member, and continue', async () => {
    const audience = await newAudience();
    await audience.sync(
      Array.from({ length: 2 * PART }, (_, n) => person(n)),
      [],
    );
    await audience.project();
    const record = recordOf(audience.advertiserId, 1, await audience.revision(), {});
    const agent = newAgent();
    const forgetMember = (id: string): Promise<unknown> =>
      inTransaction(pool, async (client) => {
        await deleteMembers(client, customerId, [id]);
        await restartDeliveries(client, customerId, [id]);
      });
    const rowsWith = async (text: string): Promise<number> =>
      (await pool.query('select from syndication_deliveries d where d::text like $1', [`%"${text}"%`]))
        .rowCount ?? 0;
    const [first, second] = ['p4', 'p5'];
    for await (const part of createAudienceParts(pool, findAudienceMembers(pool), PART).of(record)) {
      agent.receive(part);
      // The part's last member is forgotten while the agent processes it; no other member is skipped.
      await forgetMember(first);
      await part.taken();
      break;
    }
    let isForgotten = false;
    const slow = {
      query: async (query: QueryConfig) => {
        const result = await pool.query(query);
        const isPage = query.name?.startsWith('audience-members-page') === true;
        if (isPage && !isForgotten) {
          isForgotten = true;
          await forgetMember(second);
        }
        return result;
      },
    } as unknown as typeof pool;
    for await (const part of createAudienceParts(slow, findAudienceMembers(slow), PART).of(record)) {
      expect([isForgotten, await rowsWith(first), await rowsWith(second)]).toEqual([true, 0, 0]);
      agent.receive(part);
      await part.taken();
    }
    const members = await audience.members();
    expect(Object.keys(members)).toHaveLength(2 * PART - 2);
    // The agent keeps earlier members until the audience is sent again.
    expect(agent.members()).toEqual({ ...members, [first]: person(4)[1] });
  });

  it(`deliver the current members despite changes and crashes: ${RUNS} runs`, async () => {
    const random = createRandom(SEED);
    let calls = 0;
    let deaths = 0;
    for (let run = 0; run < RUNS; run++) {
      const audience = await newAudience();
      const agent = newAgent();
      await change(audience, random);
      await audience.project();
      let delivered: number | undefined;
      let changesLeft = 6;
      for (let generation = 1; delivered !== (await audience.revision()); generation++) {
        const revision = await audience.revision();
        const scope = delivered === undefined ? { anew: random.chance(0.5) } : { since: delivered };
        const record = recordOf(audience.advertiserId, generation, revision, scope);
        for (let isDone = false; !isDone;) {
          // A new worker without cached state.
          for await (const part of createAudienceParts(pool, findAudienceMembers(pool), PART).of(record)) {
            if (random.chance(0.15)) break;
            agent.receive(part);
            if (changesLeft > 0 && random.chance(0.4)) {
              changesLeft -= 1;
              await change(audience, random);
              await audience.project();
            }
            if (random.chance(0.15)) break;
            await part.taken();
            isDone = part.isLast;
          }
          if (!isDone) deaths += 1;
        }
        delivered = revision;
      }
      expect(agent.members()).toEqual(await audience.members());
      calls += agent.calls();
    }
    console.log(`seed ${SEED}: ${RUNS} audiences in ${calls} calls, ${deaths} dead workers`);
  });
});

const change = (audience: Audience, random: Random): Promise<void> => {
  const add = new Map<string, AudienceMember>();
  for (let n = random.below(12); n > 0; n--) {
    const member = person(random.below(PEOPLE), random.below(3));
    add.set(member[0], member);
  }
  const remove = new Set(Array.from({ length: random.below(6) }, () => `p${random.below(PEOPLE)}`));
  for (const id of remove) add.delete(id);
  return audience.sync([...add.values()], [...remove]);
};
