import { idArgument } from '../places.ts';
import { inTheOpen, writes } from '../tool.ts';
import type { Step, WriteTool } from '../write-tool.ts';

const create: Step = {
  verb: 'create',
  action: 'created',
  operationId: 'createWebhookSubscription',
  member: 'subscription',
};
const update: Step = {
  verb: 'update',
  action: 'updated',
  operationId: 'updateWebhookSubscription',
  params: { id: 'webhookSubscriptionId' },
  member: 'subscription',
};

const engineId = idArgument('Id of the creative engine.');
const ofAccount = {
  engineId,
  connectionId: idArgument('Id of the connection.'),
  accountId: idArgument('Id of the account at the engine.'),
};
const accountParams = { id: 'engineId', connectionId: 'connectionId', accountId: 'accountId' } as const;

export const connectionTools: readonly WriteTool[] = [
  {
    name: 'save_connection',
    title: 'Connect a creative engine',
    description:
      "Connects a creative engine with the buyer's own key, or replaces the key. search kind creative_engine lists the " +
      'engines. The key is stored encrypted and never shown. Returns {action: "connected", object}. Example: ' +
      '{"engineId":1,"apiKey":"sbx_key-of-the-buyer","idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: { engineId },
    steps: [
      {
        verb: 'connect',
        action: 'connected',
        operationId: 'connectCreativeEngine',
        params: { id: 'engineId' },
      },
    ],
  },
  {
    name: 'select_connection_account',
    title: 'Select an account of a connection',
    description:
      'Selects which of its accounts at the engine a connection uses. Returns {action: "selected", object}. Example: ' +
      '{"engineId":1,"connectionId":"con_…","accountId":"acc-1","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: ofAccount,
    steps: [
      {
        verb: 'select',
        action: 'selected',
        operationId: 'selectCreativeEngineAccount',
        params: accountParams,
      },
    ],
  },
  {
    name: 'map_connection_account',
    title: 'Map an account of a connection to an advertiser',
    description:
      'Says which advertiser an account at the engine belongs to. Returns {action: "mapped", object}. Example: ' +
      '{"engineId":1,"connectionId":"con_…","accountId":"acc-1","advertiserId":12,"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: ofAccount,
    steps: [
      { verb: 'map', action: 'mapped', operationId: 'mapCreativeEngineAccount', params: accountParams },
    ],
  },
  {
    name: 'register_agent',
    title: 'Register an AdCP agent',
    description:
      'Registers an agent that speaks the Ad Context Protocol, to syndicate to. It is asked for its capabilities. Its ' +
      'token is stored encrypted and never shown. Returns {action: "created", object}. Example: {"name":"Seller",' +
      '"url":"https://agent.example.com/mcp","protocol":"MCP","idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: {},
    steps: [{ verb: 'register', action: 'created', operationId: 'createAdcpAgent' }],
  },
  {
    name: 'save_webhook_subscription',
    title: 'Create or change a webhook subscription',
    description:
      'Creates a subscription that posts events to an https address, or with webhookSubscriptionId changes, pauses or ' +
      'enables one. A new signing secret is in the first result only. Returns {action: "created" | "updated", object, ' +
      'secret?}. Example: {"url":"https://example.com/hook","eventTypes":["creative.*"],"idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: {
      webhookSubscriptionId: idArgument('Changes this subscription. Absent: creates one.').optional(),
    },
    steps: [create, update],
    choose: ({ webhookSubscriptionId }) => (webhookSubscriptionId === undefined ? create : update),
  },
  {
    name: 'test_webhook_subscription',
    title: 'Send an example to a webhook',
    description:
      'Delivers the example of one kind of event to a subscription. Returns {action: "sent", object: {deliveryId}}: get ' +
      'kind webhook_delivery for the outcome. Example: {"webhookSubscriptionId":"whs_…","type":"campaign.phase_changed",' +
      '"idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: { webhookSubscriptionId: idArgument('Id of the subscription.') },
    steps: [
      {
        verb: 'test',
        action: 'sent',
        operationId: 'testWebhookSubscription',
        params: { id: 'webhookSubscriptionId' },
      },
    ],
  },
];
