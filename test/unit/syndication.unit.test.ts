import { describe, expect, it } from '@jest/globals';
import type { SyndicationEvent } from '../../domain/syndication/events.ts';
import { syndicationResource } from '../../domain/syndication/resource.ts';
import { isOn, isWaiting, steps, wasLeftThere } from '../../domain/syndication/syndication-states.ts';
import {
  syndicationAggregate,
  type SyndicationCommand,
  type SyndicationState,
} from '../../domain/syndication/syndication.ts';
import { createRandom } from '../faults/kit/random.ts';
import { specificationOf } from '../support/given.ts';
import { legalChanges } from '../support/legal-transitions.ts';

const { given } = specificationOf(syndicationAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;

const record = {
  recordId: '00000000-0000-4000-8000-000000000001',
  customerId: 7,
  advertiserId: 5,
  resourceType: 'EVENT_SOURCE' as const,
  resourceId: 'web',
  agentId: '00000000-0000-4000-8000-000000000002',
  account: { account_id: 'acct' },
};
const toggled = (enabled: boolean, generation: number): SyndicationEvent => ({
  type: 'SyndicationToggled',
  data: { ...record, enabled, generation },
  occurredAt: day(1),
});
const started = (generation: number): SyndicationEvent => ({
  type: 'SyndicationStarted',
  data: { generation, request: { n: generation } },
  occurredAt: day(2),
});
const taken = { idempotencyKey: 'key', taskId: 'task-1', taskOf: 'ADCP' as const };
const submitted = (generation: number, more: Partial<typeof taken> = {}): SyndicationEvent => ({
  type: 'SyndicationSubmitted',
  data: { generation, ...taken, ...more },
  occurredAt: day(2),
});
const completed = (generation: number): SyndicationEvent => ({
  type: 'SyndicationCompleted',
  data: { generation, responseData: { action: 'created' } },
  occurredAt: day(3),
});
const failed = (generation: number): SyndicationEvent => ({
  type: 'SyndicationFailed',
  data: { generation, errorMessage: 'no' },
  occurredAt: day(3),
});
const refreshed = (generation: number): SyndicationEvent => ({
  type: 'SyndicationRefreshed',
  data: { generation },
  occurredAt: day(4),
});
const withdrawn = (generation: number): SyndicationEvent => ({
  type: 'SyndicationWithdrawn',
  data: { generation, removed: true },
  occurredAt: day(4),
});
const toggle = (enabled: boolean, more: Partial<typeof record> = {}): SyndicationCommand => ({
  type: 'ToggleSyndication',
  now: day(1),
  record: { ...record, ...more },
  enabled,
});
const start = (generation: number): SyndicationCommand => ({
  type: 'StartSyndication',
  now: day(2),
  generation,
  request: { n: generation },
});
const submit = (generation: number, more: Partial<typeof taken> = {}): SyndicationCommand => ({
  type: 'SubmitSyndication',
  now: day(2),
  generation,
  ...taken,
  ...more,
});
const retry = (generation: number, attempt = 1): SyndicationCommand => ({
  type: 'RetrySyndication',
  now: day(2),
  generation,
  attempt,
  errorMessage: 'busy',
  dueAt: day(3),
});
const retried = (generation: number, attempt = 1): SyndicationEvent => ({
  type: 'SyndicationRetried',
  data: { generation, attempt, errorMessage: 'busy', dueAt: day(3) },
  occurredAt: day(2),
});
const complete = (generation: number): SyndicationCommand => ({
  type: 'CompleteSyndication',
  now: day(3),
  generation,
  responseData: { action: 'created' },
});
const fail = (generation: number): SyndicationCommand => ({
  type: 'FailSyndication',
  now: day(3),
  generation,
  errorMessage: 'no',
});
const refresh = (generation: number): SyndicationCommand => ({
  type: 'RefreshSyndication',
  now: day(4),
  generation,
});
const withdraw = (generation: number): SyndicationCommand => ({
  type: 'WithdrawSyndication',
  now: day(4),
  generation,
  removed: true,
});
const withdrawInVain = (generation: number): SyndicationCommand => ({
  type: 'WithdrawSyndication',
  now: day(4),
  generation,
  removed: false,
  reason: 'Unavailable.',
});

describe('a toggle', () => {
  it('on creates a record', () => given().when(toggle(true)).then(toggled(true, 1)));
  it('off also creates a record, so that clients can read it', () =>
    given().when(toggle(false)).then(toggled(false, 1)));
  it('on leaves an active record without failure unchanged', () => {
    given(toggled(true, 1)).when(toggle(true)).thenNothing();
    given(toggled(true, 1), started(1)).when(toggle(true)).thenNothing();
    given(toggled(true, 1), started(1), completed(1)).when(toggle(true)).thenNothing();
  });
  it('on retries a failed record', () =>
    given(toggled(true, 1), started(1), failed(1)).when(toggle(true)).then(toggled(true, 2)));
  it('off leaves a disabled record unchanged', () =>
    given(toggled(false, 1)).when(toggle(false)).thenNothing());
  it('off ends everything else', () => {
    given(toggled(true, 1), started(1)).when(toggle(false)).then(toggled(false, 2));
    given(toggled(true, 1), failed(1)).when(toggle(false)).then(toggled(false, 2));
  });
  it('on again clears the results of the last generation', () => {
    const state = given(
      toggled(true, 1),
      started(1),
      completed(1),
      toggled(false, 2),
      toggled(true, 3),
    ).state();
    expect(state).toMatchObject({
      status: 'PENDING',
      generation: 3,
      request: null,
      completedAt: null,
      responseData: null,
      errorMessage: null,
      atAgent: { is: 'DROPPING' },
    });
  });
  it('on during a deletion makes the state at the agent unknown', () => {
    const dropping = [toggled(true, 1), started(1), completed(1), toggled(false, 2)];
    const isUnsure = (...more: readonly SyndicationEvent[]): boolean => {
      const state = given(...dropping, ...more).state();
      return state.status !== 'NONE' && state.atAgent.is === 'DROPPING';
    };
    expect(isUnsure(toggled(true, 3))).toBe(true);
    expect(isUnsure(toggled(true, 3), started(3), failed(3), toggled(true, 4))).toBe(true);
    expect(isUnsure(toggled(true, 3), started(3), completed(3))).toBe(false);
    expect(isUnsure(withdrawn(2), toggled(true, 3))).toBe(false);
  });
});

describe('the table of steps', () => {
  it('contains exactly the status changes of the specification', () => {
    const changes = Object.values(steps).flatMap((step) =>
      'to' in step ? step.from.map((from) => `${from}>${step.to}`) : [],
    );
    // Switching off a DISABLED record again is also a step.
    expect(new Set(changes)).toEqual(new Set([...legalChanges, 'DISABLED>DISABLED']));
  });
});

describe('a failed attempt', () => {
  const waiting = [toggled(true, 1), started(1)] as const;
  it('shows its error until the agent accepts, and changes nothing else', () => {
    given(...waiting)
      .when(retry(1))
      .then(retried(1));
    expect(given(...waiting, retried(1)).state()).toEqual({
      ...given(...waiting).state(),
      errorMessage: 'busy',
    });
    expect(given(...waiting, retried(1), completed(1)).state()).toMatchObject({ errorMessage: null });
    const dropping = [...waiting, toggled(false, 2)] as const;
    expect(given(...dropping, retried(2)).state()).toMatchObject({ errorMessage: 'busy' });
    expect(given(...dropping, retried(2), withdrawn(2)).state()).toMatchObject({ errorMessage: null });
  });
  it('is ignored when the generation is over', () => {
    const superseded = { reason: 'superseded' as const };
    given(...waiting, completed(1))
      .when(retry(1))
      .thenRefused(superseded);
    given(...waiting, toggled(false, 2))
      .when(retry(1))
      .thenRefused(superseded);
    given(...waiting, toggled(false, 2), withdrawn(2))
      .when(retry(2))
      .thenNothing();
  });
});

describe('the result of a worker', () => {
  const superseded = { reason: 'superseded' as const };

  it('is recorded for the current generation', () => {
    given(toggled(true, 1)).when(start(1)).then(started(1));
    given(toggled(true, 1), started(1)).when(complete(1)).then(completed(1));
    given(toggled(true, 1), started(1)).when(fail(1)).then(failed(1));
    given(toggled(true, 1)).when(fail(1)).then(failed(1));
    given(toggled(true, 1), started(1), toggled(false, 2)).when(withdraw(2)).then(withdrawn(2));
  });
  it('changes nothing if it is already recorded', () => {
    given(toggled(true, 1), started(1)).when(start(1)).thenNothing();
    given(toggled(true, 1), started(1), toggled(false, 2), withdrawn(2)).when(withdraw(2)).thenNothing();
  });
  it('is refused for a generation that is over', () => {
    const history = [toggled(true, 1), started(1), toggled(false, 2), toggled(true, 3)] as const;
    for (const command of [start(1), complete(1), fail(1), withdraw(2)]) {
      given(...history)
        .when(command)
        .thenRefused(superseded);
    }
  });
  it('is refused in the wrong order', () => {
    given(toggled(true, 1)).when(complete(1)).thenRefused(superseded);
    given(toggled(true, 1), started(1), completed(1)).when(fail(1)).thenRefused(superseded);
    given(toggled(true, 1), started(1), failed(1)).when(complete(1)).thenRefused(superseded);
    given(toggled(false, 1)).when(start(1)).thenRefused(superseded);
    given(toggled(true, 1), started(1)).when(withdraw(1)).thenRefused(superseded);
    given().when(complete(1)).thenRefused(superseded);
  });
  it('of an earlier generation is ignored even if the stream contains it', () => {
    const before = given(toggled(true, 1), started(1), toggled(false, 2)).state();
    expect(given(toggled(true, 1), started(1), toggled(false, 2), completed(1)).state()).toEqual(before);
  });
});

describe('a change of a resource that the agent has', () => {
  const there = [toggled(true, 1), started(1), completed(1)] as const;

  it('starts the next generation, which records what the agent has', () => {
    given(...there)
      .when(refresh(1))
      .then(refreshed(2));
    expect(given(...there, refreshed(2)).state()).toMatchObject({
      status: 'PENDING',
      generation: 2,
      request: null,
      atAgent: { is: 'EXACTLY', older: { n: 1 } },
      responseData: null,
      completedAt: null,
    });
  });
  it('does not start during a delivery, nor for a disabled or failed record', () => {
    const superseded = { reason: 'superseded' as const };
    given(toggled(true, 1)).when(refresh(1)).thenRefused(superseded);
    given(toggled(true, 1), started(1)).when(refresh(1)).thenRefused(superseded);
    given(toggled(true, 1), started(1), failed(1)).when(refresh(1)).thenRefused(superseded);
    given(...there, toggled(false, 2))
      .when(refresh(2))
      .thenRefused(superseded);
    given(...there, refreshed(2))
      .when(refresh(1))
      .thenRefused(superseded);
  });
  it("that failed leaves the agent's state uncertain", () => {
    const state = given(...there, refreshed(2), started(2), failed(2), toggled(true, 3)).state();
    expect(state).toMatchObject({ status: 'PENDING', atAgent: { is: 'MAYBE' } });
  });
});

describe('the version at the agent while updates fail', () => {
  const there = [toggled(true, 1), started(1), completed(1), refreshed(2), started(2), failed(2)];
  it('is the older one, until an update succeeds or the record is switched off', () => {
    const older = { atAgent: { is: 'MAYBE', older: { n: 1 } } };
    expect(given(...there).state()).toMatchObject({ status: 'FAILED', ...older });
    const again = [...there, toggled(true, 3), started(3)];
    expect(given(...again, failed(3)).state()).toMatchObject({ status: 'FAILED', ...older });
    expect(given(...again, completed(3)).state()).not.toMatchObject(older);
    expect(given(...there, toggled(false, 3), toggled(true, 4)).state()).not.toMatchObject(older);
    expect(given(toggled(true, 1), started(1), failed(1)).state()).not.toHaveProperty('atAgent.older.n');
  });
});

describe('a deletion that failed at the agent', () => {
  const given1 = [toggled(true, 1), started(1), completed(1), toggled(false, 2)] as const;
  const notRemovedIn = (generation: number): SyndicationEvent => ({
    type: 'SyndicationWithdrawn',
    data: { generation, removed: false, reason: 'Unavailable.' },
    occurredAt: day(4),
  });
  const notRemoved = notRemovedIn(2);

  it('may still be there when it is switched on again, and no work waits until then', () => {
    const off = given(...given1, notRemoved).state();
    expect(off.status !== 'NONE' && isWaiting(off)).toBe(false);
    expect(given(...given1, notRemoved, toggled(true, 3)).state()).toMatchObject({
      atAgent: { is: 'MAYBE' },
    });
    expect(given(...given1, withdrawn(2), toggled(true, 3)).state()).toMatchObject({
      atAgent: { is: 'NOTHING' },
    });
  });
  it('is repeated when the record is switched off again, if the agent has the resource', () => {
    given(...given1, notRemoved)
      .when(toggle(false, { account: { account_id: 'another' } }))
      .then(toggled(false, 3));
    const again = given(...given1, notRemoved, toggled(false, 3));
    const state = again.state();
    expect(state).toMatchObject({ status: 'DISABLED', atAgent: { is: 'DROPPING' }, responseData: null });
    expect(state.status !== 'NONE' && isWaiting(state)).toBe(true);
    // During the deletion and after it, no work is pending.
    again.when(toggle(false)).thenNothing();
    given(...given1, notRemoved, toggled(false, 3), withdrawn(3))
      .when(toggle(false))
      .thenNothing();
    given(...given1, notRemoved, toggled(false, 3), withdrawn(3))
      .when(withdraw(2))
      .thenRefused({ reason: 'superseded' });
  });
  it('leaves the resource at the agent after two failures', () => {
    const twice = notRemovedIn(3);
    given(...given1, notRemoved, toggled(false, 3), twice)
      .when(toggle(false))
      .then(toggled(false, 4));
    expect(given(...given1, notRemoved, toggled(false, 3), twice, toggled(true, 4)).state()).toMatchObject({
      atAgent: { is: 'MAYBE' },
    });
  });
  it('is not at another account of the agent', () => {
    const elsewhere: SyndicationEvent = {
      type: 'SyndicationToggled',
      data: { ...record, account: { account_id: 'another' }, enabled: true, generation: 3 },
      occurredAt: day(4),
    };
    expect(given(...given1, notRemoved, elsewhere).state()).toMatchObject({ atAgent: { is: 'NOTHING' } });
  });
});

describe('a call that the agent has accepted', () => {
  const superseded = { reason: 'superseded' as const };
  const submittedIn = (...events: readonly SyndicationEvent[]) => {
    const state = given(...events).state();
    return state.status === 'NONE' ? undefined : state.submitted;
  };

  it('is remembered until the agent has finished, for deliveries and deletions', () => {
    given(toggled(true, 1), started(1)).when(submit(1)).then(submitted(1));
    given(toggled(true, 1), started(1), toggled(false, 2)).when(submit(2)).then(submitted(2));
    expect(submittedIn(toggled(true, 1), started(1), submitted(1))).toEqual({
      generation: 1,
      ...taken,
      submittedAt: day(2),
    });
  });
  it('keeps its first id', () => {
    const other = { taskId: 'task-2' };
    given(toggled(true, 1), started(1), submitted(1)).when(submit(1)).thenNothing();
    given(toggled(true, 1), started(1), submitted(1)).when(submit(1, other)).thenNothing();
  });
  it('is replaced by another call of the same generation', () => {
    const another = { idempotencyKey: 'another-key', taskId: 'task-2' };
    given(toggled(true, 1), started(1), submitted(1)).when(submit(1, another)).then(submitted(1, another));
  });
  it('is recorded in the next generation until that one makes a request', () => {
    const history = [toggled(true, 1), started(1), submitted(1), toggled(false, 2)] as const;
    expect(submittedIn(...history)).toMatchObject({ generation: 1 });
    expect(submittedIn(...history, toggled(true, 3))).toMatchObject({ generation: 1 });
    expect(submittedIn(...history, toggled(true, 3), started(3))).toBeUndefined();
  });
  it('is recorded in the next generation also if the answer arrives after the toggle', () => {
    const history = [toggled(true, 1), started(1), toggled(false, 2)] as const;
    given(...history)
      .when(submit(1))
      .then(submitted(1));
    expect(submittedIn(...history, submitted(1))).toMatchObject({ generation: 1 });
    given(...history, submitted(2))
      .when(submit(1))
      .thenRefused(superseded);
  });
  it('is removed at its end', () => {
    const history = [toggled(true, 1), started(1), submitted(1)] as const;
    for (const end of [completed(1), failed(1)]) expect(submittedIn(...history, end)).toBeUndefined();
    expect(submittedIn(...history, toggled(false, 2), withdrawn(2))).toBeUndefined();
  });
  it('does not change the resource', () => {
    const shown = (...events: readonly SyndicationEvent[]) => {
      const state = given(...events).state();
      return state.status === 'NONE' ? undefined : syndicationResource(state);
    };
    const before = [toggled(true, 1), started(1)] as const;
    expect(shown(...before, submitted(1))).toEqual(shown(...before));
  });
  it('is refused without a request, and after the end', () => {
    given().when(submit(1)).thenRefused(superseded);
    given(toggled(true, 1)).when(submit(1)).thenRefused(superseded);
    given(toggled(true, 1)).when(submit(2)).thenRefused(superseded);
    given(toggled(true, 1), started(1), completed(1)).when(submit(1)).thenRefused(superseded);
    given(toggled(false, 1)).when(submit(1)).thenRefused(superseded);
  });
});

describe('pending work', () => {
  it('is a resource to send to the agent, or to delete there', () => {
    const waits = (...events: readonly SyndicationEvent[]): boolean => {
      const state = given(...events).state();
      return state.status !== 'NONE' && isWaiting(state);
    };
    expect(waits(toggled(true, 1))).toBe(true);
    expect(waits(toggled(true, 1), started(1))).toBe(true);
    expect(waits(toggled(true, 1), started(1), completed(1))).toBe(false);
    expect(waits(toggled(true, 1), started(1), failed(1))).toBe(false);
    expect(waits(toggled(false, 1))).toBe(false);
    expect(waits(toggled(true, 1), toggled(false, 2))).toBe(true);
    expect(waits(toggled(true, 1), started(1), toggled(false, 2))).toBe(true);
    expect(waits(toggled(true, 1), started(1), toggled(false, 2), withdrawn(2))).toBe(false);
  });
});

/** For one seed. @returns violated invariants */
const wrongOf = (seed: number): readonly string[] => {
  const random = createRandom(seed);
  const wrong: string[] = [];
  let state: SyndicationState = syndicationAggregate.initialState;
  let wanted: boolean | undefined;
  for (let left = random.below(41); left > 0; left--) {
    const isToggle = random.chance(0.4);
    const make = random.pick([start, submit, retry, complete, fail, withdraw, withdrawInVain, refresh]);
    const one = isToggle ? toggle(random.chance(0.5)) : make(1 + random.below(6));
    const before: SyndicationState = state;
    const decision = syndicationAggregate.decide(one, state);
    if ('events' in decision) state = decision.events.reduce(syndicationAggregate.evolve, state);
    if (one.type === 'ToggleSyndication') wanted = one.enabled;
    if (one.type === 'ToggleSyndication' && !one.enabled && state.status !== 'NONE' && wasLeftThere(state)) {
      wrong.push('switched off, and what was left there stays there');
    }
    const transition = `${before.status}>${state.status}`;
    if (before.status !== state.status && !legalChanges.has(transition)) wrong.push(transition);
  }
  if (state.status === 'NONE') return wrong;
  if (['COMPLETED', 'FAILED'].includes(state.status) && state.submitted !== undefined)
    wrong.push('submitted');
  if (isOn(state) !== wanted) wrong.push('not as it was last asked for');
  const shown = syndicationResource(state);
  if (shown.enabled !== (shown.status !== 'DISABLED')) wrong.push('enabled');
  if ((shown.completedAt !== null) !== (shown.status === 'COMPLETED')) wrong.push('completedAt');
  // While it is retried, it shows the last error.
  if (shown.errorMessage === null ? shown.status === 'FAILED' : shown.status === 'COMPLETED') {
    wrong.push('errorMessage');
  }
  if (shown.eventSourceId !== 'web' || shown.audienceId !== null) wrong.push('resource');
  return wrong.map((text) => `seed ${seed}: ${text}`);
};

/** `HISTORIES=1000000` is the long form, `HISTORY_SEED` the first seed. */
const HISTORIES = Number(process.env['HISTORIES'] ?? 20_000);
const HISTORY_SEED = Number(process.env['HISTORY_SEED'] ?? 1);

describe('any events in any order', () => {
  it('no transition is illegal, the last toggle wins, and the members of a record are consistent', () => {
    const wrong: string[] = [];
    for (let n = 0; n < HISTORIES; n++) wrong.push(...wrongOf(HISTORY_SEED + n));
    expect(wrong).toEqual([]);
  }, 3_600_000);
});
