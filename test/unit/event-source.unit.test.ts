import { describe, expect, it } from '@jest/globals';
import type { EventSourceEvent } from '../../domain/event-sources/events.ts';
import { eventSourceResource, notSeen } from '../../domain/event-sources/resource.ts';
import {
  eventSourceAggregate,
  eventSourceStream,
  type EventSourceCommand,
} from '../../domain/event-sources/event-source.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(eventSourceAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;

const identity = { sourceId: 'id', customerId: 7, advertiserId: 5, key: 'web' };
const web = { name: 'Website', eventTypes: ['purchase' as const], testEventCode: 'T1' };
const created: EventSourceEvent = {
  type: 'EventSourceCreated',
  data: { ...identity, definition: web },
  occurredAt: day(1),
};
const archived: EventSourceEvent = { type: 'EventSourceArchived', data: {}, occurredAt: day(2) };
const sync = (definition: object): EventSourceCommand => ({
  type: 'SyncEventSource',
  now: day(3),
  ...identity,
  definition: { name: 'Website', ...definition },
});
const archive: EventSourceCommand = { type: 'ArchiveEventSource', now: day(3) };

describe('a sync', () => {
  it('creates a new source', () => {
    given()
      .when(sync(web))
      .then({ ...created, occurredAt: day(3) });
  });

  it('without a change records nothing, for any order of members', () => {
    given(created)
      .when(sync({ testEventCode: 'T1', eventTypes: ['purchase'] }))
      .thenNothing();
  });

  it('replaces the whole definition: absent members get their defaults', () => {
    const state = given(created)
      .when(sync({ allowedDomains: ['example.com'] }))
      .state();
    expect(state).toEqual({
      ...identity,
      name: 'Website',
      allowedDomains: ['example.com'],
      status: 'ACTIVE',
      lastChange: 'updated',
      createdAt: day(1),
      updatedAt: day(3),
    });
  });

  it('restores a deleted source with the new definition, even if it is unchanged', () => {
    given(created, archived)
      .when(sync(web))
      .then({ type: 'EventSourceRestored', data: { definition: web }, occurredAt: day(3) });
    expect(given(created, archived).when(sync(web)).state()).toMatchObject({
      status: 'ACTIVE',
      lastChange: 'created',
      createdAt: day(1),
    });
  });
});

describe('archiving', () => {
  it('archives an active source once', () => {
    given(created)
      .when(archive)
      .then({ ...archived, occurredAt: day(3) });
    given(created, archived).when(archive).thenNothing();
  });

  it('is refused for an unknown one', () => {
    given().when(archive).thenRefused({ reason: 'not-found' });
  });
});

it('the stream name contains the account', () => {
  expect(eventSourceStream(7, 'id')).toBe('eventSource-7-id');
});

it('shows unset optional members never, and collections always', () => {
  const state = given(created).state();
  if (state.status === 'NONE') throw new Error('not created');
  expect(eventSourceResource(state, notSeen)).toEqual({
    eventSourceId: 'web',
    name: 'Website',
    eventTypes: ['purchase'],
    allowedDomains: [],
    testEventCode: 'T1',
    health: notSeen,
    createdAt: day(1),
    updatedAt: day(1),
  });
});
