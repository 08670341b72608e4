import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CampaignEvent } from '../../domain/campaigns/events.ts';
import {
  campaignAggregate,
  isOpen,
  type CampaignCommand,
  type CampaignStep,
  type UpdateCampaign,
} from '../../domain/campaigns/campaign.ts';
import { campaignIdOf, campaignResource, shownCampaignId } from '../../domain/campaigns/resource.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(campaignAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;
const campaignId = '00000000-0000-4000-8000-000000000001';
const flight = { startAt: day(1), endAt: day(5) };
const details = { campaignId, customerId: 7, advertiserId: 5, name: 'Spring', currency: 'EUR' };

const created = (more: object = {}): CampaignEvent => ({
  type: 'CampaignCreated',
  data: { ...details, ...more },
  occurredAt: day(1),
});
const happened = (type: 'CampaignLaunched' | 'CampaignPaused' | 'CampaignCompleted' | 'CampaignArchived') =>
  ({ type, data: {}, occurredAt: day(2) }) satisfies CampaignEvent;
const [launched, paused, completed, archived] = [
  happened('CampaignLaunched'),
  happened('CampaignPaused'),
  happened('CampaignCompleted'),
  happened('CampaignArchived'),
];
const update = (changes: UpdateCampaign['changes'], more: Partial<UpdateCampaign> = {}): UpdateCampaign => ({
  type: 'UpdateCampaign',
  now: day(3),
  changes,
  unchangeable: {},
  advertiserIsArchived: false,
  ...more,
});
const move = (type: CampaignStep, now = day(3)): CampaignCommand => ({
  type,
  now,
  advertiserIsArchived: false,
});
const updated = (changes: object): CampaignEvent => ({
  type: 'CampaignUpdated',
  data: { changes },
  occurredAt: day(3),
});

describe('create', () => {
  it('makes a draft of revision 1, without unset members', () => {
    const state = given(created()).state();
    expect(state.phase === 'none' ? undefined : JSON.parse(JSON.stringify(campaignResource(state)))).toEqual({
      id: 'cmp_00000000000040008000000000000001',
      advertiserId: 5,
      name: 'Spring',
      phase: 'draft',
      revision: 1,
      createdAt: day(1),
      updatedAt: day(1),
    });
  });
  it('is possible only once', () =>
    given(created())
      .when({ type: 'CreateCampaign', now: day(2), campaign: details })
      .thenRefused({ reason: 'already-exists' }));
  it('gives an id that converts back to the UUID', () => {
    expect(campaignIdOf(shownCampaignId(campaignId))).toBe(campaignId);
    for (const none of ['', 'cmp_', campaignId, 'cmp_0', `cmp_${'g'.repeat(32)}`, `agt_${'0'.repeat(32)}`]) {
      expect(campaignIdOf(none)).toBeUndefined();
    }
  });
});

describe('update', () => {
  it('records only changed members', () =>
    given(created({ flight }))
      .when(update({ name: 'Spring', flight, brief: 'New', budget: { total: 10 } }))
      .then(updated({ brief: 'New', budget: { total: 10, currency: 'EUR' } })));
  it('without a change records nothing', () =>
    given(created())
      .when(update({ name: 'Spring', brief: null }))
      .thenNothing());
  it('clears members with null', () => {
    const { state } = given(created({ flight, brief: 'x' })).when(update({ flight: null, brief: null }));
    expect(JSON.parse(JSON.stringify(state()))).not.toMatchObject({ flight: expect.anything() as unknown });
    expect(state()).toMatchObject({ revision: 2, brief: undefined, updatedAt: day(3) });
  });
  it('is refused for a stale revision, even without a change', () =>
    given(created(), launched)
      .when(update({ name: 'Spring' }, { expectedRevision: 1 }))
      .thenRefused({ reason: 'stale', expectedRevision: 1, currentRevision: 2 }));
  it('succeeds for the current revision', () =>
    given(created(), launched)
      .when(update({ name: 'Summer' }, { expectedRevision: 2 }))
      .then(updated({ name: 'Summer' })));
  it('is refused in another currency', () =>
    given(created())
      .when(update({ budget: { total: 1, currency: 'USD' } }))
      .thenRefused({ reason: 'other-currency', currency: 'EUR' }));
  it.each([
    ['id', 'cmp_0'],
    ['advertiserId', 6],
    ['phase', 'active'],
  ] as const)('never of %s', (member, value) =>
    given(created())
      .when(update({}, { unchangeable: { [member]: value } }))
      .thenRefused({ reason: 'unchangeable', member }),
  );
  it('may repeat unchangeable members', () =>
    given(created())
      .when(
        update({}, { unchangeable: { id: shownCampaignId(campaignId), advertiserId: 5, phase: 'draft' } }),
      )
      .thenNothing());
  it.each([completed, archived])('is refused after $type', (end) => {
    const { state } = given(created(), launched, end);
    expect(campaignAggregate.decide(update({ name: 'x' }), state())).toMatchObject({
      refused: { reason: 'wrong-phase' },
    });
  });
  it('is refused for an archived advertiser', () =>
    given(created())
      .when(update({}, { advertiserIsArchived: true }))
      .thenRefused({ reason: 'advertiser-archived' }));
});

describe('phases', () => {
  const histories = {
    draft: [created()],
    active: [created(), launched],
    paused: [created(), launched, paused],
    completed: [created(), launched, completed],
    archived: [created(), archived],
  } as const;
  const expected = {
    LaunchCampaign: { draft: 'active', active: 'active' },
    PauseCampaign: { active: 'paused', paused: 'paused' },
    ReactivateCampaign: { paused: 'active', active: 'active' },
    CompleteCampaign: { completed: 'completed' },
    ArchiveCampaign: {
      draft: 'archived',
      active: 'archived',
      paused: 'archived',
      completed: 'archived',
      archived: 'archived',
    },
  } as const;
  it.each(Object.entries(expected))('%s', (type, allowed: Readonly<Record<string, string>>) => {
    for (const [phase, history] of Object.entries(histories)) {
      const command = move(type as CampaignStep);
      const decided = given(...history).when(command);
      // Without an end of its flight a campaign cannot be completed.
      const isEarly = type === 'CompleteCampaign' && ['active', 'paused'].includes(phase);
      const to = isEarly ? phase : allowed[phase];
      if (to === phase) decided.thenNothing();
      else if (to === undefined)
        expect(campaignAggregate.decide(command, given(...history).state())).toHaveProperty(
          'refused.reason',
          'wrong-phase',
        );
      else expect(decided.state()).toMatchObject({ phase: to, revision: history.length + 1 });
    }
  });
  it('a campaign whose flight is over can neither launch nor reactivate', () => {
    given(created({ flight }))
      .when(move('LaunchCampaign', day(5)))
      .thenRefused({ reason: 'flight-over' });
    given(created({ flight }), launched, paused)
      .when(move('ReactivateCampaign', day(6)))
      .thenRefused({ reason: 'flight-over' });
    expect(
      given(created({ flight }))
        .when(move('LaunchCampaign', day(4)))
        .state().phase,
    ).toBe('active');
  });
  it('the end of the flight completes an active or paused campaign', () => {
    for (const history of [[launched], [launched, paused]]) {
      const { when } = given(created({ flight }), ...history);
      when(move('CompleteCampaign', day(4))).thenNothing();
      expect(when(move('CompleteCampaign', day(5))).state().phase).toBe('completed');
    }
  });
  it('no step is possible for an archived advertiser', () =>
    given(created())
      .when({ type: 'LaunchCampaign', now: day(2), advertiserIsArchived: true })
      .thenRefused({ reason: 'advertiser-archived' }));
});

it('for any commands: the revision counts changes, closed campaigns stay closed, a repeat changes nothing', () => {
  const steps = fc.constantFrom<CampaignCommand>(
    move('LaunchCampaign'),
    move('PauseCampaign'),
    move('ReactivateCampaign'),
    move('CompleteCampaign', day(5)),
    move('ArchiveCampaign'),
    update({ name: 'a' }),
    update({ name: 'b', flight: null }),
    update({ budget: { total: 3 } }),
  );
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 12 }), (commands) => {
      let state = given(created({ flight })).state();
      for (const command of commands) {
        const decision = campaignAggregate.decide(command, state);
        if ('refused' in decision || state.phase === 'none') continue;
        const next = decision.events.reduce(campaignAggregate.evolve, state);
        if (next.phase === 'none') throw new Error('a campaign stays one');
        expect(next.revision).toBe(state.revision + decision.events.length);
        expect(decision.events.length).toBeLessThanOrEqual(1);
        if (!isOpen(state)) expect(next.phase === state.phase || next.phase === 'archived').toBe(true);
        expect(campaignAggregate.decide(command, next)).toEqual({ events: [] });
        state = next;
      }
    }),
  );
});
