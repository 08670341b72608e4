import { describe, expect, it } from '@jest/globals';
import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import type { CauseNode } from '../../domain/history/cause-resource.ts';
import type { SyndicationEvent } from '../../domain/syndication/events.ts';
import { syndicationJobs, type SyndicationStep } from '../../domain/syndication/syndication-job.ts';
import { audienceEvents } from '../../domain/audiences/events.ts';
import { syndicationAggregate, syndicationStream } from '../../domain/syndication/syndication.ts';
import { causesSince, lastCorrelation } from '../../command/workers/causes-since.ts';
import {
  completed as complete,
  failed as fail,
  loadRecord,
  refreshed,
  resourceStream,
  started as begin,
  submitted,
  switchOff,
  withdrawn as withdraw,
} from '../../command/workers/syndication/record-steps.ts';
import { advertiserEvents } from '../../domain/advertisers/events.ts';
import { catalogEvents } from '../../domain/catalogs/events.ts';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import type { CausedRow } from '../../query/history/audit-entries.ts';
import type { AuditedKind } from '../../query/resources/audited-kind.ts';
import { causeTree } from '../../query/history/cause-tree.ts';
import { causesOf } from '../../query/history/causes-of.ts';
import type { JobHistory } from '../../query/resources/job-history.ts';
import { toNewEvents, type StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { SyndicationRecord } from '../../domain/syndication/resource.ts';

/** The effects of a request follow from ids and the order of the log, never from clocks. */

const record = {
  recordId: '00000000-0000-4000-8000-000000000001',
  customerId: 7,
  advertiserId: 5,
  resourceType: 'AUDIENCE' as const,
  resourceId: 'vip',
  agentId: '00000000-0000-4000-8000-000000000002',
  account: { account_id: 'acct' },
};
const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;

const toggled = (enabled: boolean, generation: number, minute = 0): SyndicationEvent => ({
  type: 'SyndicationToggled',
  data: { ...record, enabled, generation },
  occurredAt: at(minute),
});
const started = (generation: number): SyndicationEvent => ({
  type: 'SyndicationStarted',
  data: { generation, request: {} },
  occurredAt: at(1),
});
const accepted = (generation: number, key: string, minute = 2): SyndicationEvent => ({
  type: 'SyndicationSubmitted',
  data: { generation, idempotencyKey: key, taskId: `task of ${key}`, taskOf: 'ADCP' },
  occurredAt: at(minute),
});
const completed = (generation: number): SyndicationEvent => ({
  type: 'SyndicationCompleted',
  data: { generation, responseData: { action: 'created' } },
  occurredAt: at(5),
});
const failed = (generation: number): SyndicationEvent => ({
  type: 'SyndicationFailed',
  data: { generation, errorMessage: 'no' },
  occurredAt: at(5),
});
const withdrawn = (generation: number, reason?: string): SyndicationEvent => ({
  type: 'SyndicationWithdrawn',
  data: reason === undefined ? { generation, removed: true } : { generation, removed: false, reason },
  occurredAt: at(6),
});

const jobsOf = (...events: readonly SyndicationEvent[]) => {
  const steps = events.map((event, n): SyndicationStep => ({ eventId: `e${n}`, commandId: `c${n}`, event }));
  return syndicationJobs(
    steps,
    events.reduce(syndicationAggregate.evolve, syndicationAggregate.initialState),
  );
};

describe('the jobs of a syndication record', () => {
  it('are one for each generation, with its result', () => {
    expect(jobsOf(toggled(true, 1))).toMatchObject([
      { work: 'TAKE', status: 'WAITING', begun: { commandId: 'c0', at: at(0) }, steps: [], calls: [] },
    ]);
    expect(jobsOf(toggled(true, 1), started(1))).toMatchObject([
      { status: 'RUNNING', steps: ['e1'], calls: [{ status: 'RUNNING', askedAt: at(1) }] },
    ]);
    expect(jobsOf(toggled(true, 1), started(1), completed(1))).toMatchObject([
      {
        status: 'COMPLETED',
        endedAt: at(5),
        steps: ['e1', 'e2'],
        calls: [{ status: 'COMPLETED', endedAt: at(5), responseData: { action: 'created' } }],
      },
    ]);
    // The job failed before it called the agent.
    expect(jobsOf(toggled(true, 1), failed(1))).toMatchObject([
      { status: 'FAILED', errorMessage: 'no', calls: [] },
    ]);
  });

  it('contain each accepted call with its result', () => {
    const [job] = jobsOf(toggled(true, 1), started(1), accepted(1, 'a', 2), accepted(1, 'b', 3), failed(1));
    expect(job?.calls).toEqual([
      {
        askedAt: at(1),
        status: 'COMPLETED',
        endedAt: at(3),
        accepted: { taskId: 'task of a', taskOf: 'ADCP', idempotencyKey: 'a' },
      },
      {
        askedAt: at(3),
        status: 'FAILED',
        endedAt: at(5),
        errorMessage: 'no',
        accepted: { taskId: 'task of b', taskOf: 'ADCP', idempotencyKey: 'b' },
      },
    ]);
  });

  it('are superseded by a later toggle; deleting a resource that the agent never had is not a job', () => {
    const jobs = jobsOf(toggled(true, 1), started(1), toggled(false, 2), accepted(1, 'late'), withdrawn(2));
    expect(jobs).toMatchObject([
      {
        generation: 1,
        status: 'SUPERSEDED',
        steps: ['e1', 'e3'],
        calls: [{ status: 'SUPERSEDED', accepted: { idempotencyKey: 'late' } }],
      },
      { generation: 2, work: 'DROP', status: 'COMPLETED', calls: [{ status: 'COMPLETED' }] },
    ]);
    expect(jobsOf(toggled(false, 1))).toEqual([]);
    expect(jobsOf(toggled(true, 1), started(1), toggled(false, 2)).at(-1)).toMatchObject({
      status: 'WAITING',
    });
    expect(
      jobsOf(toggled(false, 1), toggled(true, 2), started(2), toggled(false, 3), withdrawn(3, 'away')),
    ).toMatchObject([
      { generation: 2, status: 'SUPERSEDED' },
      { generation: 3, status: 'FAILED', errorMessage: 'away', calls: [] },
    ]);
    // The start of these jobs is on an earlier page.
    expect(jobsOf(started(4), completed(4))).toMatchObject([{ generation: 4, steps: ['e0', 'e1'] }]);
    expect(jobsOf(completed(4))[0]?.begun).toBeUndefined();
  });
});

describe('a call that is accepted after a later toggle', () => {
  it('belongs to its own request', async () => {
    const store = createMemoryEventStore();
    const stream = `syndication-7-${record.recordId}`;
    const append = (requestId: string, ...events: readonly SyndicationEvent[]) => {
      const context = { commandId: requestId, customerId: 7, actor: 'operator', requestId };
      return store.append(stream, toNewEvents(events, context, syndicationAggregate.events), 'any');
    };
    await append('00000000-0000-4000-8000-00000000000a', toggled(true, 1), started(1));
    await append('00000000-0000-4000-8000-00000000000b', toggled(false, 2));
    const asked = { ...record, generation: 1 } as SyndicationRecord;
    const call = { idempotencyKey: 'key', taskId: 'task', taskOf: 'ADCP' as const };
    await submitted({ store, clock: { now: () => 0 } }, asked, call, 'the first request');
    const last = [];
    for await (const event of store.readStream(stream, { direction: 'backward', limit: 1 })) last.push(event);
    expect(last).toMatchObject([
      { type: 'SyndicationSubmitted', metadata: { correlationId: 'the first request' } },
    ]);
  });
});

/** A log with a record's stream and that of its resource. */
const givenLog = () => {
  const store = createMemoryEventStore();
  const own = syndicationStream(record.customerId, record.recordId);
  const resource = resourceStream(record as SyndicationRecord);
  const commandOf = (requestId: string): string => derivedId(record.recordId, requestId);
  const append = (stream: string, requestId: string, ...events: readonly StorableEvent[]) => {
    const context = { commandId: commandOf(requestId), customerId: 7, actor: 'x', requestId };
    const schemas = {
      ...syndicationAggregate.events,
      ...audienceEvents,
      ...catalogEvents,
      ...advertiserEvents,
    };
    return store.append(stream, toNewEvents(events, context, schemas), 'any');
  };
  const last = async (count: number) => {
    const events: RecordedEvent[] = [];
    for await (const event of store.readStream(own, { direction: 'backward', limit: count }))
      events.push(event);
    return events.toReversed();
  };
  const load = async () => {
    const loaded = await loadRecord({ store }, record);
    if (loaded === undefined) throw new Error('there is no record');
    return loaded;
  };
  const cause = (correlationId: string) => ({ correlationId, causationId: commandOf(correlationId) });
  return { stores: { store, clock: { now: () => 0 } }, own, resource, append, last, load, cause };
};
const changed: StorableEvent = { type: 'AudienceArchived', data: {}, occurredAt: at(0) };
const switchedOn = (resourceRevision?: number): SyndicationEvent => ({
  type: 'SyndicationToggled',
  data: {
    ...record,
    enabled: true,
    generation: 1,
    ...(resourceRevision === undefined ? {} : { resourceRevision }),
  },
  occurredAt: at(0),
});

describe('a generation that updates an agent', () => {
  it('belongs to the request that changed the resource, also between the read and the start', async () => {
    const { stores, own, resource, append, last } = givenLog();
    await append(resource, 'made', changed);
    await append(own, 'switched on', toggled(true, 1));
    await append(resource, 'meanwhile', changed);
    await append(own, 'switched on, too', started(1), completed(1));
    await refreshed(stores, { ...record, generation: 1 } as SyndicationRecord, 1);
    expect(await last(1)).toMatchObject([
      { type: 'SyndicationRefreshed', data: { generation: 2 }, metadata: { correlationId: 'meanwhile' } },
    ]);
  });

  it('names exactly the requests that changed the resource after the previous generation had read it', async () => {
    const { stores, own, resource, append, last, load, cause } = givenLog();
    await append(resource, 'made', changed);
    await append(own, 'switched on', switchedOn(0));
    await append(resource, 'brought already', changed);
    const waiting = await load();
    // This event is appended between the read of the resource and the start.
    await append(resource, 'first', changed);
    await begin(stores, waiting, {}, 1);
    await append(resource, 'second', changed);
    const current = await load();
    await complete(stores, current, {});
    // The start names events up to here; the next start names later ones.
    await append(resource, 'third', changed);
    await refreshed(stores, (await load()).record, 3);
    expect(await last(1)).toMatchObject([
      {
        type: 'SyndicationRefreshed',
        data: { generation: 2, resourceRevision: 3, alsoCausedBy: [cause('first')] },
        metadata: { correlationId: 'second' },
      },
    ]);
    await begin(stores, await load(), {}, 4);
    await complete(stores, await load(), {});
    const both = [cause('first'), cause('third')];
    expect(await last(2)).toMatchObject([
      { type: 'SyndicationStarted', data: { resourceRevision: 4, alsoCausedBy: both } },
      { type: 'SyndicationCompleted', data: { alsoCausedBy: both }, metadata: { correlationId: 'second' } },
    ]);
  });
});

describe('the start of a generation', () => {
  it('names exactly the requests that changed the resource since the switch-on, once each', async () => {
    const { stores, own, resource, append, last, load, cause } = givenLog();
    await append(resource, 'made', changed);
    await append(resource, 'changed before', changed);
    await append(own, 'switched on', switchedOn(1));
    await append(resource, 'a', changed);
    await append(resource, 'b', { type: 'CatalogFeedFailed', data: {}, occurredAt: at(0) });
    await append(resource, 'switched on', changed);
    await append(resource, 'too late', changed);
    await begin(stores, await load(), {}, 4);
    expect(await last(1)).toMatchObject([
      {
        type: 'SyndicationStarted',
        data: { resourceRevision: 4, alsoCausedBy: [cause('a')] },
        metadata: { correlationId: 'switched on' },
      },
    ]);
    // All later events are listed under both requests.
    await fail(stores, await load(), 'no');
    expect(await last(1)).toMatchObject([
      { data: { alsoCausedBy: [cause('a')] }, metadata: { correlationId: 'switched on' } },
    ]);
  });

  it('of a record from before revisions were recorded names no request', async () => {
    const { stores, own, resource, append, last, load } = givenLog();
    await append(own, 'switched on', switchedOn());
    await append(resource, 'a', changed);
    await begin(stores, await load(), {}, 0);
    expect((await last(1))[0]?.data).toEqual({ generation: 1, request: {}, resourceRevision: 0 });
  });

  it('belongs to its own request, also when an earlier call was recorded in between', async () => {
    const { stores, own, append, last, load } = givenLog();
    await append(own, 'first on', toggled(true, 1), started(1));
    await append(own, 'off', toggled(false, 2));
    await append(own, 'second on', toggled(true, 3));
    const call = { idempotencyKey: 'key', taskId: 'task', taskOf: 'ADCP' as const };
    await submitted(stores, { ...record, generation: 1 } as SyndicationRecord, call, 'first on');
    const before = await load();
    await fail(stores, { record: before.record }, 'no');
    expect(await last(2)).toMatchObject([
      { type: 'SyndicationSubmitted', metadata: { correlationId: 'first on' } },
      { type: 'SyndicationFailed', metadata: { correlationId: 'second on' } },
    ]);
    expect(before.correlationId).toBe('second on');
  });
});

describe('a resource that is deleted and belongs to an archived advertiser', () => {
  it('is switched off because of both requests, and so are the effects', async () => {
    const { stores, own, resource, append, last, load, cause } = givenLog();
    const advertiser = advertiserStream(record.customerId, record.advertiserId);
    const archived = { type: 'AdvertiserArchived', data: {}, occurredAt: at(0) };
    await append(advertiser, 'archived before', archived);
    await append(own, 'switched on', switchedOn(0), started(1), completed(1));
    await append(resource, 'deleted', changed);
    await append(advertiser, 'archived', archived);
    await append(advertiser, 'restored', { type: 'AdvertiserRestored', data: {}, occurredAt: at(0) });
    await switchOff(stores, (await load()).record, false);
    await withdraw(stores, await load());
    const alsoCausedBy = [cause('deleted')];
    expect(await last(2)).toMatchObject([
      {
        type: 'SyndicationToggled',
        data: { enabled: false, alsoCausedBy },
        metadata: { correlationId: 'archived' },
      },
      { type: 'SyndicationWithdrawn', data: { alsoCausedBy }, metadata: { correlationId: 'archived' } },
    ]);
  });
});

const isFrom =
  (place: string) =>
  ({ position }: RecordedEvent): boolean =>
    position >= place;

describe('the requests that a worker acts because of', () => {
  it('are the requests of all events since the first unprocessed one, each once', async () => {
    const store = createMemoryEventStore();
    const streams = ['one-7', 'two-7'];
    const places: string[] = [];
    const commandOf = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
    const append = async (stream: number, requestId: string, type = 'Occasion'): Promise<void> => {
      const events = toNewEvents(
        [{ type, data: {}, occurredAt: at(0) }],
        { commandId: commandOf(places.length), customerId: 7, actor: 'operator', requestId },
        { [type]: { schemaVersion: 1 } },
      );
      places.push((await store.append(streams[stream] ?? '', events, 'any')).position);
    };
    await append(0, 'looked at');
    await append(0, 'a');
    await append(1, 'b');
    await append(1, 'not one', 'Other');
    await append(0, 'a');
    await append(1, 'c');
    const [, since = '', named = ''] = places;
    const isOccasion = ({ type }: { readonly type: string }): boolean => type === 'Occasion';
    const cause = (correlationId: string, n: number) => ({
      correlationId,
      causationId: commandOf(n),
    });
    expect(await causesSince(store, { streams, isNew: isFrom(since), named, isOccasion })).toEqual({
      correlationId: 'b',
      alsoCausedBy: [cause('c', 5), cause('a', 4)],
    });
    // By default, reads to the end and counts every event.
    expect(await causesSince(store, { streams, isNew: isFrom(since) })).toEqual({
      correlationId: 'c',
      alsoCausedBy: [cause('a', 4), cause('not one', 3), cause('b', 2)],
    });
    // An unknown command does not hide the others.
    expect(await causesSince(store, { streams, isNew: isFrom(named), named: since, isOccasion })).toEqual({
      correlationId: 'c',
      alsoCausedBy: [cause('a', 4), cause('b', 2)],
    });
    const behind = `${places.at(-1)}x`;
    expect(await causesSince(store, { streams, isNew: isFrom(behind) })).toEqual({ alsoCausedBy: [] });
  });

  it('are not repeated if a command already names them, except for the triggering one', async () => {
    const store = createMemoryEventStore();
    const places: string[] = [];
    const append = async (stream: string, requestId: string, type: string, data = {}): Promise<void> => {
      const events = toNewEvents(
        [{ type, data, occurredAt: at(0) }],
        {
          commandId: derivedId(record.recordId, `${places.length}`),
          customerId: 7,
          actor: 'operator',
          requestId,
        },
        { [type]: { schemaVersion: 1 } },
      );
      places.push((await store.append(stream, events, 'any')).position);
    };
    await append('one-7', 'a', 'Occasion');
    await append('two-7', 'b', 'Occasion');
    await append('two-7', 'c', 'Occasion');
    const other = { correlationId: 'b', causationId: 'its command' };
    await append('one-7', 'a', 'Answer', { alsoCausedBy: [other] });
    await append('one-7', 'd', 'Occasion');
    await append('two-7', 'a', 'Occasion');
    const ofType =
      (asked: string) =>
      ({ type }: RecordedEvent): boolean =>
        type === asked;
    const causes = (named?: string) =>
      causesSince(store, {
        streams: ['one-7', 'two-7'],
        isNew: isFrom(''),
        isOccasion: ofType('Occasion'),
        isAnswer: ofType('Answer'),
        ...(named === undefined ? {} : { named }),
      });
    const named = ({ correlationId, alsoCausedBy }: Awaited<ReturnType<typeof causes>>) => [
      correlationId,
      ...alsoCausedBy.map((one) => one.correlationId),
    ];
    expect(named(await causes())).toEqual(['a', 'd', 'c']);
    expect(named(await causes(places[1]))).toEqual(['b', 'a', 'd', 'c']);
  });

  it('are searched in the last 50 events of a stream, with minimal reads', async () => {
    const memory = createMemoryEventStore();
    const limits: (number | undefined)[] = [];
    const store: Pick<EventStore, 'readStream'> = {
      readStream: (stream, options) => {
        limits.push(options?.limit);
        return memory.readStream(stream, options);
      },
    };
    const places: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const events = toNewEvents(
        [{ type: 'Occasion', data: {}, occurredAt: at(0) }],
        {
          commandId: derivedId(record.recordId, `${n}`),
          customerId: 7,
          actor: 'operator',
          requestId: `r${n}`,
        },
        { Occasion: { schemaVersion: 1 } },
      );
      places.push((await memory.append('one-7', events, 'any')).position);
    }
    const sinceEvent = async (n: number) => {
      limits.length = 0;
      const { alsoCausedBy } = await causesSince(store, {
        streams: ['one-7'],
        isNew: isFrom(places[n] ?? ''),
      });
      return [alsoCausedBy.length + 1, ...limits];
    };
    expect(await sinceEvent(57)).toEqual([3, 10]);
    expect(await sinceEvent(45)).toEqual([15, 10, 40]);
    limits.length = 0;
    expect(await lastCorrelation(store, 'one-7')).toBe('r59');
    expect(limits).toEqual([1]);
    const named = places[10] ?? '';
    expect(await causesSince(store, { streams: ['one-7'], isNew: isFrom(named), named })).toMatchObject({
      correlationId: 'r10',
    });
    expect(
      await causesSince(store, {
        streams: ['one-7'],
        isNew: isFrom(places[9] ?? ''),
        named: places[9] ?? '',
      }),
    ).toMatchObject({ correlationId: 'r59' });
  });
});

const rowOf = (n: number, more: Partial<CausedRow>): CausedRow =>
  ({
    kind: 'event',
    id: `e${n}`,
    // The clocks go backwards, which must have no effect.
    at: at(59 - n),
    position: `p${n}`,
    stream: 's',
    revision: n,
    type: 'Happened',
    actor: 'operator',
    requestId: 'request',
    correlationId: 'request',
    causationId: `c${n}`,
    ledBy: null,
    ...more,
  }) as CausedRow;
const byWorker = (worker: string) => ({ actor: `worker:${worker}`, requestId: 'its own' });

describe('the tree of causes', () => {
  const kind = {
    causes: { followed: () => ['resource'], isCause: () => false },
  } as unknown as AuditedKind;
  const earlier = (n: number, stream: string, isRequested = true) => ({
    position: `p${n}`,
    stream,
    causationId: `c${n}`,
    isRequested,
  });

  it('follows the ids, or else the last earlier event in the log', () => {
    const all = [
      earlier(1, 'resource'),
      earlier(2, 'other'),
      earlier(3, 'resource', false),
      earlier(9, 'resource'),
    ];
    const row = rowOf(5, { stream: 'own', ...byWorker('x') });
    const causeOf = (causes: AuditedKind['causes'], events = all) =>
      causesOf([{ row, kind: { ...kind, causes }, state: {} }], events).get('c5');
    expect(causeOf({ isCause: (cause) => cause.position === 'p2', followed: () => ['resource'] })).toBe('c2');
    expect(causeOf({ followed: () => ['resource'] })).toBe('c3');
    expect(causeOf({}, [...all, earlier(0, 'own'), earlier(4, 'own', false)])).toBe('c0');
    // The event itself names another request in addition to its own.
    const other = { row: { ...row, ledBy: 'c2' }, kind, state: {} };
    expect(causesOf([other], all).get('c5')).toBe('c2');
    // Without a record no request is guessed.
    expect(causeOf({})).toBeUndefined();
  });

  it('is in the order of the log; a node whose cause is on an earlier page is at the top and names it', () => {
    const job: JobHistory = {
      id: 'job',
      begunBy: 'c1',
      joinedBy: [],
      steps: ['e3', 'e4'],
      facts: { worker: 'syndication', status: 'COMPLETED' },
      calls: [{ adcpAgentId: 'agent', task: 'sync_audiences', status: 'COMPLETED', askedAt: at(1) }],
    };
    const rows = [
      rowOf(1, {}),
      rowOf(2, { causationId: 'c1' }),
      rowOf(3, byWorker('syndication')),
      rowOf(4, byWorker('syndication')),
      rowOf(5, byWorker('catalog-feeds')),
      rowOf(6, byWorker('syndication')),
    ];
    const entries = rows.map(({ id, actor }) => ({ id, actor, actorOrigin: 'WORKER' }) as AuditLog);
    const asText = (node: CauseNode): unknown =>
      node.kind === 'agentCall'
        ? [node.id, node.causedBy]
        : [
            node.kind,
            node.id,
            node.causedBy,
            node.events.map(({ id }) => id),
            ...node.followedBy.map(asText),
          ];
    const tree = (from: number) =>
      causeTree({
        rows: rows.slice(from),
        entries: entries.slice(from),
        jobs: [job],
        causes: new Map([
          ['c5', 'c1'],
          ['c6', 'c5'],
        ]),
        isJob: ({ actor }) => actor === 'worker:catalog-feeds',
        hasFailed: () => false,
      }).map(asText);
    const ofJob = [['job-call1', 'job']];
    const change = ['command', 'c6', 'c5', ['e6']];
    const feed = ['job', 'c5', 'c1', ['e5'], change];
    expect(tree(0)).toEqual([
      ['command', 'c1', null, ['e1', 'e2'], ['job', 'job', 'c1', ['e3', 'e4'], ...ofJob], feed],
    ]);
    expect(tree(3)).toEqual([['job', 'job', 'c1', ['e4'], ...ofJob], feed]);
    // Another request began this work and this one joined it later: the node follows from the event that joined it.
    const shared = [
      rowOf(1, { causationId: 'change' }),
      rowOf(3, { ...byWorker('syndication'), ledBy: 'change' }),
      rowOf(4, { ...byWorker('syndication'), ledBy: 'change' }),
    ];
    const sharedTree = (start: number, joinedBy: readonly string[]) =>
      causeTree({
        rows: shared.slice(start),
        entries: shared
          .map(({ id, actor }) => ({ id, actor, actorOrigin: 'WORKER' }) as AuditLog)
          .slice(start),
        jobs: [{ ...job, joinedBy }],
        causes: new Map(),
        isJob: () => false,
        hasFailed: () => false,
      }).map(asText);
    expect(sharedTree(0, ['change'])).toEqual([
      ['command', 'change', null, ['e1'], ['job', 'job', 'change', ['e3', 'e4'], ...ofJob]],
    ]);
    expect(sharedTree(1, ['change'])).toEqual([['job', 'job', 'change', ['e3', 'e4'], ...ofJob]]);
    expect(sharedTree(1, [])).toEqual([['job', 'job', 'c1', ['e3', 'e4'], ...ofJob]]);
  });
});
