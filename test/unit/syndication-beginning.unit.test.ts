import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { loadRecord } from '../../command/workers/syndication/record-steps.ts';
import { syndicate } from '../../command/workers/syndication/syndicate.ts';
import { TryAgainError } from '../../command/workers/syndication/try-again.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { agentAggregate, agentStream } from '../../domain/agents/agent.ts';
import type { SyndicationRecord } from '../../domain/syndication/syndication-resource.ts';
import { syndicationAggregate, syndicationStream } from '../../domain/syndication/syndication.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';

/** What a generation begins with is loaded beside what says whether it may begin. */

const NOW = '2026-01-01T00:00:00.000Z';
const notKnown = new TryAgainError('not known', { afterMs: 2_000, isTry: false });

/** A record that was switched on, of an active advertiser or of none, while nobody knows who else has its id. */
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
        details: {
          name: 'Buyer',
          sandbox: false,
          primaryCurrency: 'USD',
          brandCountries: [],
          channels: [],
          optimizationApplyMode: 'MANUAL',
          controls: { exclusions: [] },
          utmConfig: [],
          labels: {},
          autonomy: { inventorySelection: 'manual', rebriefing: 'manual' },
        },
      },
    });
  }
  await executeCommand(store, syndicationAggregate, {
    stream: syndicationStream(customerId, recordId),
    context: context(),
    command: { type: 'ToggleSyndication', now: NOW, record, enabled: true },
  });
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
    atAgents: { holders: () => Promise.reject(notKnown) },
  };
  const work = { customerId, recordId, generation: 1, archived: false };
  return {
    calls,
    run: () => syndicate(options as never, work, { signal: new AbortController().signal } as never),
    now: async (): Promise<SyndicationRecord | undefined> => (await loadRecord({ store }, work))?.record,
  };
};

describe('while it is not known who else has something of the same id', () => {
  it('nothing begins', async () => {
    const { run, now, calls } = await given({ hasAdvertiser: true });
    await expect(run()).rejects.toBe(notKnown);
    expect(await now()).toMatchObject({ status: 'PENDING', request: null });
    expect(calls).toEqual([]);
  });

  it('what has no active advertiser is switched off all the same', async () => {
    const { run, now, calls } = await given({ hasAdvertiser: false });
    await run();
    expect(await now()).toMatchObject({ status: 'DISABLED' });
    expect(calls).toEqual([]);
  });
});
