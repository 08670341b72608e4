import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import type { Job, JobQueue } from '../../shared/queue/job-queue.ts';
import { offerWork, workJobId, workJobs, type WorkKind } from '../../shared/work-list/run-work.ts';
import {
  DONE,
  type OfferedEntry,
  type WorkEntry,
  type WorkList,
  type WorkResult,
} from '../../shared/work-list/work-list.ts';

const entry: WorkEntry = {
  kind: 'test',
  customerId: 1,
  key: '00000000-0000-4000-8000-000000000001',
  revision: '0000000000000002',
  askedAt: 'now',
  data: { since: 'x' },
  attempts: 1,
  lost: 0,
};
const again: WorkResult = { is: 'again', afterMs: 1_000, isTry: true, reason: 'busy' };

interface JobOutcome {
  readonly settled: readonly unknown[];
  readonly errors: readonly string[];
  readonly runs: readonly unknown[];
  readonly thrown: string | undefined;
}

const run = async (
  handle: () => Promise<WorkResult>,
  {
    isLastAttempt = false,
    signal = new AbortController().signal,
    lost = 0,
    giveUp,
  }: {
    isLastAttempt?: boolean;
    signal?: AbortSignal;
    lost?: number;
    giveUp?: WorkKind['giveUp'];
  } = {},
): Promise<JobOutcome> => {
  const [settled, errors, runs]: [unknown[], string[], unknown[]] = [[], [], []];
  const list: Partial<WorkList> = {
    settle: async (_entry, result, gapMs) => void settled.push([result, gapMs]),
    noteError: async (_entry, reason) => void errors.push(reason),
  };
  const kind: WorkKind = {
    name: 'test',
    concurrency: 1,
    perAccountMax: 1,
    attemptsMax: 2,
    gapMs: 5,
    handle: (given, { attempt, isLastAttempt: isLast }) => {
      runs.push([given, attempt, isLast]);
      return handle();
    },
    ...(giveUp && { giveUp }),
  };
  const [job] = workJobs([kind], list as WorkList, pino({ enabled: false }));
  const thrown = await job
    ?.handle({ id: 'job', data: { ...entry, lost }, attempt: 1, isLastAttempt, signal })
    .then(
      () => undefined,
      (error: unknown) => String(error),
    );
  return { settled, errors, runs, thrown };
};
const fails = (cause: Error) => async (): Promise<never> => {
  throw cause;
};
const unavailable = new EventStoreUnavailableError('unavailable');

describe('a job', () => {
  it('writes its result to the list, and receives the number of its attempt', async () => {
    expect(await run(async () => again)).toEqual({
      settled: [[again, 5]],
      errors: [],
      runs: [[{ ...entry, traceparent: null, correlationId: null }, 2, true]],
      thrown: undefined,
    });
  });

  it('that throws is retried by the queue, and the list stores the error', async () => {
    for (const isLastAttempt of [false, true]) {
      const outcome = await run(fails(new Error('broken')), { isLastAttempt });
      expect(outcome).toMatchObject({ settled: [], errors: ['broken'], thrown: 'Error: broken' });
    }
  });

  it('does not count attempts while a store is unavailable', async () => {
    expect(await run(fails(unavailable))).toMatchObject({ settled: [], errors: [unavailable.message] });
    const outcome = await run(fails(unavailable), { isLastAttempt: true });
    expect(outcome.settled).toEqual([
      [{ is: 'again', afterMs: 5_000, isTry: false, reason: unavailable.message }, 5],
    ]);
    expect(outcome.thrown).toBeUndefined();
  });

  it('that another worker took over writes nothing', async () => {
    const outcome = await run(fails(unavailable), { isLastAttempt: true, signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ settled: [], errors: [], thrown: String(unavailable) });
  });

  it('that was lost ten times is given up or postponed', async () => {
    const given = await run(async () => again, { lost: 10, giveUp: async () => DONE });
    expect(given).toMatchObject({ settled: [[DONE, 5]], runs: [] });
    const put = await run(async () => again, { lost: 10 });
    expect(put).toMatchObject({
      settled: [[{ is: 'again', afterMs: 3_600_000, isTry: false }, 5]],
      runs: [],
    });
  });
});

describe('entries that are due', () => {
  const offerKinds = (
    kinds: readonly WorkKind[],
    { list, queue, signal }: { list: Partial<WorkList>; queue: Partial<JobQueue>; signal: AbortSignal },
  ) =>
    offerWork({
      kinds,
      list: list as WorkList,
      queue: () => queue as JobQueue,
      watch: () => async () => undefined,
      log: pino({ level: 'silent' }),
      signal,
    });
  const offer = async (offered: readonly OfferedEntry[], live: readonly string[], mayBe = true) => {
    const ending = new AbortController();
    const [jobs, lost]: [Job[], unknown[]] = [[], []];
    const list: Partial<WorkList> = {
      due: async () => ['part-of-test'],
      offer: async (_kind, { countMax }) => {
        ending.abort();
        return offered.slice(0, countMax);
      },
      countLost: async (entries) => void lost.push(...entries.map(({ key }) => key)),
    };
    const queue: Partial<JobQueue> = {
      waiting: async () => 1,
      hasLiveJob: async (id) => live.includes(id),
      enqueue: async (...some) => void jobs.push(...some),
    };
    let prepared = 0;
    await offerKinds(
      [
        {
          name: 'test',
          madeOf: ['part-of-test'],
          concurrency: 4,
          perAccountMax: 1,
          attemptsMax: 1,
          prepare: async () => {
            prepared += 1;
            if (!mayBe) ending.abort();
            return mayBe;
          },
          handle: async () => DONE,
        },
      ],
      { list, queue, signal: ending.signal },
    );
    expect(prepared).toBe(1);
    return { jobs: jobs.map(({ id, data }) => [id, data['lost'], data['revision']]), lost };
  };
  const fresh: OfferedEntry = { ...entry, leasedRevision: undefined };
  const leased = (revision: string): OfferedEntry => ({ ...entry, leasedRevision: revision });

  it('become jobs, up to the free capacity', async () => {
    const made = [workJobId(entry), 0, entry.revision];
    expect(await offer([fresh], [])).toEqual({ jobs: [made], lost: [] });
    expect((await offer([fresh, fresh, fresh, fresh], [])).jobs).toHaveLength(3);
    expect(await offer([fresh], [], false)).toEqual({ jobs: [], lost: [] });
  });

  it('become jobs also while another kind cannot be offered', async () => {
    const ending = new AbortController();
    const jobs: string[] = [];
    const list: Partial<WorkList> = {
      due: async (names) => names,
      offer: async () => {
        ending.abort();
        return [fresh];
      },
    };
    const queue: Partial<JobQueue> = {
      waiting: async () => 0,
      enqueue: async (...some) => void jobs.push(...some.map(({ id }) => id)),
    };
    const kind = { concurrency: 1, perAccountMax: 1, attemptsMax: 1, handle: async () => DONE };
    await offerKinds(
      [
        { ...kind, name: 'broken', prepare: fails(new Error('broken')) },
        { ...kind, name: 'test' },
      ],
      { list, queue, signal: ending.signal },
    );
    expect(jobs).toEqual([workJobId(entry)]);
  });

  it('are released when the queue does not accept them, so that they do not count as lost', async () => {
    const ending = new AbortController();
    const settled: unknown[] = [];
    const list: Partial<WorkList> = {
      due: async (names) => names,
      offer: async () => {
        ending.abort();
        return [fresh];
      },
      settle: async ({ key }, result) => void settled.push([key, result]),
    };
    const queue: Partial<JobQueue> = {
      waiting: async () => 0,
      enqueue: fails(new Error('OOM command not allowed')),
    };
    await offerKinds(
      [{ name: 'test', concurrency: 1, perAccountMax: 1, attemptsMax: 1, handle: async () => DONE }],
      { list, queue, signal: ending.signal },
    );
    const reason = 'The job queue accepts no jobs now.';
    expect(settled).toEqual([[entry.key, { is: 'again', afterMs: 2_000, isTry: false, reason }]]);
  });

  it('whose lease has expired wait for a live job, also of an earlier revision', async () => {
    const earlier = '0000000000000001';
    for (const revision of [earlier, entry.revision]) {
      expect(await offer([leased(revision)], [workJobId({ ...entry, revision })])).toEqual({
        jobs: [],
        lost: [],
      });
      expect(await offer([leased(revision)], [])).toEqual({
        jobs: [[workJobId(entry), 1, entry.revision]],
        lost: [entry.key],
      });
    }
  });

  it('have job ids that the queue accepts, for positions of any event store', () => {
    expect(workJobId({ key: 'k', revision: '00000000000000000001.00000000000000000001' })).toMatch(
      /^[\w-]+$/,
    );
  });
});
