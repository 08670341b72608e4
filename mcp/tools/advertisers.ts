import { idArgument } from '../places.ts';
import { writes } from '../tool.ts';
import type { Step, WriteTool } from '../write-tool.ts';

const create: Step = { verb: 'create', action: 'created', operationId: 'createAdvertiser' };
const update: Step = {
  verb: 'update',
  action: 'updated',
  operationId: 'updateAdvertiser',
  params: { id: 'advertiserId' },
};

export const advertiserTools: readonly WriteTool[] = [
  {
    name: 'save_advertiser',
    title: 'Create or change an advertiser',
    description:
      'Creates an advertiser (a brand of the account, with its currency), or with advertiserId changes one: members that ' +
      'you leave out stay. Confirm the currency with the user before you create one; the first campaign locks it. ' +
      'Returns {action: "created" | "updated", object}. ' +
      'Example: {"name":"Acme","brand":"acme.com","primaryCurrency":"EUR","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { advertiserId: idArgument('Changes this advertiser. Absent: creates one.').optional() },
    steps: [create, update],
    choose: ({ advertiserId }) => (advertiserId === undefined ? create : update),
    leftOut: ['id', 'customerId', 'status'],
  },
];
