import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  callsNaming,
  done,
  makeBelongings,
  neverIds,
  type Arguments,
  type ToolBelongings,
} from '../support/mcp-belongings.ts';
import { connectV2, type CalledTool, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Every tool that names an object, with the ids of another account: as if they had never existed. */

let service: RunningService;
let b: TestAccount;
let ours: ToolClient;
let theirs: ToolClient;
let own: ToolBelongings;
beforeAll(async () => {
  service = await startRunningService();
  const open = async (name: string): Promise<readonly [TestAccount, ToolClient]> => {
    const account = await service.openAccount(name);
    return [account, await connectV2('auto')(`${service.baseUrl}/mcp`, account.apiKey)];
  };
  [, ours] = await open('A');
  [b, theirs] = await open('B');
  await done(ours, 'save_advertiser', { name: 'A1', idempotencyKey: 'key-of-advertiser-a1' });
  own = await makeBelongings(theirs, 'b');
}, 60_000);
afterAll(async () => {
  await ours.close();
  await theirs.close();
  await service.stop();
});

const calls = (ids: ToolBelongings) => callsNaming(ids);

/** Their results are checked for objects of the other account below. */
/** Filters of reports find nothing of others: `delivery.e2e.test.ts`. */
const namingNothing = [
  'get_status',
  'list_events',
  'get_delivery',
  'get_audit_log',
  'save_connection',
  'register_agent',
];

it('every tool that names an object is tried', async () => {
  const tried = new Set(calls(own).map(([tool]) => tool));
  const listed = (await theirs.tools()).map(({ name }) => name);
  expect([...tried, ...namingNothing].toSorted()).toEqual(listed.toSorted());
});

/** What differs because the ids of the arguments differ. */
const withoutIds = ({ isError, content }: CalledTool, ids: ToolBelongings): string => {
  let text = JSON.stringify({ isError, content });
  for (const [name, id] of Object.entries(ids)) {
    if (name !== 'engineId') text = text.replaceAll(String(id), name);
  }
  return text;
};

it('no tool tells whether another account has an object', async () => {
  const eventsBefore = (await service.eventsOfAccount(b)).length;
  const absent = calls(neverIds);
  for (const [n, [tool, input]] of calls(own).entries()) {
    const [, never] = absent[n] as readonly [string, Arguments];
    const refused = await ours.call(tool, input);
    const unknown = await ours.call(tool, never);
    expect({ tool, input, answer: withoutIds(refused, own) }).toEqual({
      tool,
      input,
      answer: withoutIds(unknown, neverIds),
    });
    const isEmptyList = tool === 'search' && !refused.isError;
    if (isEmptyList)
      expect(refused.content).toMatchObject({ objects: { results: [] }, page: { returned: 0 } });
    else expect({ tool, input, ...refused }).toMatchObject({ isError: true });
  }
  // Nothing of them has changed, and nothing was recorded.
  expect((await service.eventsOfAccount(b)).length).toBe(eventsBefore);
}, 120_000);

it('the objects of an account are in no list of another', async () => {
  for (const kind of ['advertiser', 'campaign', 'adcp_agent', 'webhook_subscription']) {
    const { objects } = (await done(ours, 'search', { kind, view: 'full' })) as {
      objects: { results: readonly { readonly name?: string }[] };
    };
    expect([kind, objects.results.map(({ name }) => name)]).toEqual([
      kind,
      kind === 'advertiser' ? ['A1'] : [],
    ]);
  }
  const { events } = (await done(ours, 'list_events', {})) as {
    events: readonly { readonly advertiserId?: number }[];
  };
  expect(events.filter(({ advertiserId }) => advertiserId === own.advertiserId)).toEqual([]);
  const { logs } = (await done(ours, 'get_audit_log', { actions: 'CampaignCreated' })) as {
    logs: readonly unknown[];
  };
  expect(logs).toEqual([]);
});

it("a list or body that names another account's object is refused, too", async () => {
  const mine = Number(
    (
      (await done(ours, 'search', { kind: 'advertiser' })) as {
        objects: { results: readonly { id: number }[] };
      }
    ).objects.results[0]?.id,
  );
  const campaign = (await done(ours, 'save_campaign', {
    advertiserId: mine,
    name: 'Mine',
    idempotencyKey: 'key-of-campaign-of-a',
  })) as { object: { id: string } };
  const campaignId = campaign.object.id;
  const pairs: readonly (readonly [string, (ids: ToolBelongings) => Arguments])[] = [
    ['attach_creative', ({ creativeId }) => ({ advertiserId: mine, creativeId, campaignId })],
    ['duplicate_creative', ({ creativeId }) => ({ campaignId, creativeId })],
    ['save_creative', ({ creativeId }) => ({ campaignId, creativeId, message: 'x' })],
    [
      'save_creative',
      ({ assetId }) => ({
        campaignId,
        formatKind: 'image',
        slots: [{ slotId: 'a', kind: 'asset', assetId }],
      }),
    ],
    [
      'save_creative_session',
      ({ connectionId }) => ({ campaignId, step: 'start', title: 'x', connectionId }),
    ],
    ['get', ({ sessionId }) => ({ kind: 'creative_session', id: sessionId, campaignId })],
    ['get', ({ assetId }) => ({ kind: 'asset', id: assetId, advertiserId: mine })],
    ['get', ({ audienceId }) => ({ kind: 'audience', id: audienceId, advertiserId: mine })],
    ['get', ({ recordId }) => ({ kind: 'syndication', id: recordId, advertiserId: mine })],
  ];
  for (const [n, [tool, input]] of pairs.entries()) {
    const key = tool === 'get' ? {} : { idempotencyKey: `pair-${n}-aaaaaaaaaaaaaaaa` };
    const refused = await ours.call(tool, { ...input(own), ...key });
    const unknown = await ours.call(tool, { ...input(neverIds), ...key });
    expect({ tool, refused: withoutIds(refused, own) }).toEqual({
      tool,
      refused: withoutIds(unknown, neverIds),
    });
    expect(refused.isError).toBe(true);
  }
});
