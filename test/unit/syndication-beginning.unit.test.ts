import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { loadRecord } from '../../command/workers/syndication/record-steps.ts';
import { giveUp, syndicate } from '../../command/workers/syndication/syndicate.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { agentAggregate, agentStream } from '../../domain/agents/agent.ts';
import type { SyndicationRecord } from '../../domain/syndication/resource.ts';
import {
  syndicationAggregate,
  syndicationStream,
  type SyndicationCommand,
} from '../../domain/syndication/syndication.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { advertiserDetails } from '../support/advertiser-details.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const notKnown = new TryAgainError('not known', { afterMs: 2_000, isTry: false });

/** An enabled record, while it is unknown which other resources share its id. */
const given = async ({ hasAdvertiser }: { readonly hasAdvertiser: boolean }) => {
  const store = createMemoryEventStore();
  const [customerId, advertiserId, recordId, agentId] = [1, 2, randomUUID(), randomUUID()];
  const record = {
    recordId,
    customerId,
    advertiserId,
    agentId,
    resourceType: 'EVENT_SOURCE',
    resourceId: 'x',
    account: { account_id: 'acct' },
  } as const;
  const context = () => ({ commandId: randomUUID(), customerId, actor: 'test', requestId: 'r' });
  await executeCommand(store, agentAggregate, {
    stream: agentStream(customerId, agentId),
    context: context(),
    command: {
      type: 'RegisterAgent',
      now: NOW,
      agent: {
        agentId,
        customerId,
        name: 'Agent',
        url: 'https://agent.example.com/mcp',
        protocol: 'MCP',
        accountId: 'acct',
      },
    },
  });
  if (hasAdvertiser) {
    await executeCommand(store, advertiserAggregate, {
      stream: advertiserStream(customerId, advertiserId),
      context: context(),
      command: {
        type: 'CreateAdvertiser',
        now: NOW,
        advertiserId,
        customerId,
        frequencyCaps: [],
        newCapIds: [],
        details: advertiserDetails,
      },
    });
  }
  const execute = (command: SyndicationCommand) =>
    executeCommand(store, syndicationAggregate, {
      stream: syndicationStream(customerId, recordId),
      context: context(),
      command,
    });
  const toggle = (enabled: boolean) => execute({ type: 'ToggleSyndication', now: NOW, record, enabled });
  await toggle(true);
  const calls: unknown[] = [];
  const options = {
    store,
    snapshots: undefined,
    clock: { now: () => Date.parse(NOW) },
    secrets: { get: async () => undefined },
    callAgent: async (call: unknown) => {
      calls.push(call);
      return { outcome: 'completed', data: undefined };
    },
    kinds: { EVENT_SOURCE: { load: async () => ({ item: { event_source_id: 'x' }, revision: 0 }) } },
    audienceParts: { forget: async () => undefined },
    atAgents: { holders: () => Promise.reject(notKnown) },
  };
  const work = { customerId, recordId, generation: 1, archived: false };
  return {
    calls,
    toggle,
    giveUp: (generation: number, archived: boolean) =>
      giveUp(options as never, { ...work, generation, archived }),
    /** Delivers the first generation and starts the second one. */
    refresh: async () => {
      const causes = { resourceRevision: 0, alsoCausedBy: [] };
      await execute({ type: 'StartSyndication', now: NOW, generation: 1, request: {}, ...causes });
      await execute({ type: 'CompleteSyndication', now: NOW, generation: 1, responseData: {} });
      await execute({ type: 'RefreshSyndication', now: NOW, generation: 1, ...causes });
    },
    run: (archived = false) =>
      syndicate(options as never, { ...work, archived }, { signal: new AbortController().signal } as never),
    now: async (): Promise<SyndicationRecord | undefined> => (await loadRecord({ store }, work))?.record,
  };
};

describe('while it is unknown which other resources share the id', () => {
  it('no generation starts', async () => {
    const { run, now, calls } = await given({ hasAdvertiser: true });
    await expect(run()).rejects.toBe(notKnown);
    expect(await now()).toMatchObject({ status: 'PENDING', request: null });
    expect(calls).toEqual([]);
  });

  it('a record without an active advertiser is switched off', async () => {
    const { run, now, calls } = await given({ hasAdvertiser: false });
    await run();
    expect(await now()).toMatchObject({ status: 'DISABLED' });
    expect(calls).toEqual([]);
  });
});

describe('an entry of an earlier generation that is marked as archived', () => {
  it('switches off a record that was only refreshed since', async () => {
    const { run, now, refresh } = await given({ hasAdvertiser: true });
    await refresh();
    await run();
    expect(await now()).toMatchObject({ status: 'PENDING', generation: 2 });
    await run(true);
    expect(await now()).toMatchObject({ status: 'DISABLED', generation: 3 });
  });

  it('does not switch off a record that was switched on since', async () => {
    const { run, now, refresh, toggle } = await given({ hasAdvertiser: true });
    await refresh();
    await toggle(false);
    await toggle(true);
    await run(true);
    expect(await now()).toMatchObject({ status: 'PENDING', generation: 4 });
  });
});

describe('a generation that cannot be finished', () => {
  it('fails; an entry that is archived, or whose record has no pending work, stays on the list', async () => {
    const { now, refresh, giveUp: give } = await given({ hasAdvertiser: true });
    expect(await give(1, true)).toMatchObject({ is: 'again', isTry: false });
    expect(await now()).toMatchObject({ status: 'PENDING' });
    await refresh();
    expect(await give(1, false)).toEqual({ is: 'done' });
    expect(await give(1, true)).toMatchObject({ is: 'again' });
    expect(await give(2, false)).toEqual({ is: 'done' });
    expect(await now()).toMatchObject({ status: 'FAILED' });
    expect(await give(2, false)).toMatchObject({ is: 'again' });
  });
});
