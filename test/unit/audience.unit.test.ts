import { describe, expect, it } from '@jest/globals';
import type { AudienceEvent } from '../../domain/audiences/events.ts';
import { audienceAggregate, type AudienceCommand } from '../../domain/audiences/audience.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(audienceAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;

const identity = { audienceId: 'id', customerId: 7, advertiserId: 5, key: 'crm' };
const batch = { batchId: 'b', parts: 1, added: 2, removed: 0 };
const synced = (more: object = {}): AudienceEvent => ({
  type: 'AudienceSynced',
  data: { ...identity, name: 'CRM', ...more },
  occurredAt: day(1),
});
const archived: AudienceEvent = { type: 'AudienceArchived', data: {}, occurredAt: day(2) };
const sync = (more: object = {}): AudienceCommand => ({
  type: 'SyncAudience',
  now: day(3),
  ...identity,
  ...more,
});
const archive: AudienceCommand = { type: 'ArchiveAudience', now: day(3) };
const at3 = (event: AudienceEvent): AudienceEvent => ({ ...event, occurredAt: day(3) });

describe('a sync', () => {
  it('creates a new audience, named after its key', () => {
    given()
      .when(sync({ batch }))
      .then(at3(synced({ name: 'crm', batch })));
  });

  it('with members is recorded each time', () => {
    given(synced({ batch }))
      .when(sync({ batch }))
      .then(at3(synced({ batch })));
  });

  it('without members or other changes records nothing', () => {
    given(synced({ batch })).when(sync()).thenNothing();
    given(synced())
      .when(sync({ name: 'CRM' }))
      .thenNothing();
  });

  it('keeps an absent name and consent basis', () => {
    given(synced({ consentBasis: 'consent' }))
      .when(sync({ name: 'New' }))
      .then(at3(synced({ name: 'New', consentBasis: 'consent' })));
  });

  it('recreates a deleted audience', () => {
    given(synced({ consentBasis: 'consent' }), archived)
      .when(sync())
      .then(at3(synced({ name: 'crm' })));
    expect(given(synced(), archived).when(sync()).state()).toMatchObject({
      status: 'ACTIVE',
      lastChange: 'created',
      createdAt: day(1),
    });
  });
});

describe('archiving', () => {
  it('archives an active audience once, and ignores an unknown one', () => {
    given(synced()).when(archive).then(at3(archived));
    given(synced(), archived).when(archive).thenNothing();
    given().when(archive).thenNothing();
  });
});

describe('erased members', () => {
  const forgotten = { forgettingId: 'f', members: 2 };
  const record: AudienceCommand = { type: 'RecordForgotten', now: day(3), ...forgotten };

  it('are recorded for an active audience', () => {
    given(synced())
      .when(record)
      .then({ type: 'AudienceMembersForgotten', data: forgotten, occurredAt: day(3) });
    expect(given(synced()).when(record).state()).toMatchObject({ lastChange: 'updated', updatedAt: day(3) });
  });

  it('are not recorded for others', () => {
    given().when(record).thenNothing();
    given(synced(), archived).when(record).thenNothing();
  });
});
