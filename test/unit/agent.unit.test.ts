import { describe, expect, it } from '@jest/globals';
import type { AgentEvent } from '../../domain/agents/events.ts';
import { agentResource, silenceOf } from '../../domain/agents/resource.ts';
import { agentAggregate, type AgentCommand, type AgentState } from '../../domain/agents/agent.ts';

const NOW = '2026-01-31T12:00:00.000Z';
const agent = {
  agentId: 'a',
  customerId: 1,
  name: 'A',
  url: 'https://a.example.com',
  protocol: 'MCP',
} as const;
const silent: AgentCommand = { type: 'RegisterAgent', now: NOW, agent, silence: 'No answer.' };

const given = (...commands: readonly AgentCommand[]): { state: AgentState; events: readonly AgentEvent[] } =>
  commands.reduce<{ state: AgentState; events: readonly AgentEvent[] }>(
    ({ state }, command) => {
      const decision = agentAggregate.decide(command, state);
      const events = 'events' in decision ? decision.events : [];
      return { state: events.reduce(agentAggregate.evolve, state), events };
    },
    { state: agentAggregate.initialState, events: [] },
  );

const check = (checks: number, now = NOW): AgentCommand => ({
  type: 'RecordAgentCheck',
  now,
  checks,
  found: { silence: 'No answer.' },
});
const answered = (checks: number): AgentCommand => ({
  type: 'RecordAgentCheck',
  now: NOW,
  checks,
  found: { supportedTasks: ['sync_catalogs'] },
});

describe('an agent that does not answer', () => {
  it('is named without the query of its URL, which may contain a key: the reason is stored', () => {
    const silence = silenceOf('https://a.example.com/mcp?key=secret#top', {
      reason: 'No answer.',
      checks: 1,
    });
    expect(silence).toContain('The agent at https://a.example.com/mcp did not answer');
    expect(silence).not.toContain('secret');
  });

  it('is registered as unreachable', () =>
    expect(given(silent).events).toEqual([
      { type: 'AgentRegistered', data: agent, occurredAt: NOW },
      {
        type: 'AgentUnreachable',
        data: { reason: 'No answer.', checks: 1, nextCheckAt: '2026-01-31T12:00:01.000Z' },
        occurredAt: NOW,
      },
    ]));

  it('is checked after 1 s, 2 s, 4 s and so on, then every 6 h, for about 30 days', () => {
    let now = Date.parse(NOW);
    let { state } = given(silent);
    const waits: number[] = [];
    for (;;) {
      const next = state.status === 'NONE' ? undefined : state.unreachable?.nextCheckAt;
      if (next === undefined) break;
      waits.push(Date.parse(next) - now);
      now = Date.parse(next);
      const decision = agentAggregate.decide(check(waits.length, next), state);
      state = ('events' in decision ? decision.events : []).reduce(agentAggregate.evolve, state);
    }
    expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(Math.max(...waits)).toBe(6 * 3_600_000);
    expect(Math.round((now - Date.parse(NOW)) / 86_400_000)).toBe(30);
    if (state.status === 'NONE') throw new Error('it is there');
    expect(agentResource(state)).toMatchObject({
      status: 'UNREACHABLE',
      statusReason: expect.stringMatching(/It is not asked any more\. Register it again when it is there\.$/),
    });
  });

  it('becomes ACTIVE with its first answer, which lists its tasks', () => {
    const { state, events } = given(silent, check(1), answered(2));
    expect(events.map(({ type }) => type)).toEqual(['AgentAnswered']);
    expect(state).toMatchObject({
      status: 'ACTIVE',
      unreachable: undefined,
      supportedTasks: ['sync_catalogs'],
    });
  });

  it.each<[string, readonly AgentCommand[], AgentCommand]>([
    ['the same check twice', [silent, check(1)], check(1)],
    ['a late answer to an earlier check', [silent, check(1)], answered(1)],
    ['a check of an agent that has answered', [silent, answered(1)], check(1)],
    ['a check of an agent that was removed', [silent, { type: 'RemoveAgent', now: NOW }], answered(1)],
    ['a check of an agent that there is not', [], answered(1)],
  ])('%s changes nothing', (_, before, command) => {
    const { state } = given(...before);
    expect(agentAggregate.decide(command, state)).toEqual({ events: [] });
  });

  it('can be removed', () => {
    const { state } = given(silent, { type: 'RemoveAgent', now: NOW });
    expect(state).toMatchObject({ status: 'REMOVED' });
  });
});
