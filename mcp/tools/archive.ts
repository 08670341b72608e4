import { z } from 'zod';
import type { Described } from '../confirm.ts';
import type { KindName } from '../kinds.ts';
import type { Operations } from '../operations.ts';
import { idArgument, placeArguments, requirePlaces } from '../places.ts';
import { readKind, type Named } from '../read-kind.ts';
import { destroys, writes, type ToolCall } from '../tool.ts';
import type { Given, Step, WriteTool } from '../write-tool.ts';

const archiving = (
  operationId: string,
  params: Readonly<Record<string, string>>,
  needs: readonly ('advertiserId' | 'engineId')[] = [],
): Step & { readonly needs: readonly ('advertiserId' | 'engineId')[] } => ({
  verb: 'archive',
  action: 'archived',
  operationId,
  params,
  needs,
  names: ['kind', 'id'],
});

const archived = {
  advertiser: archiving('deleteAdvertiser', { id: 'id' }),
  campaign: archiving('deleteCampaign', { id: 'id' }),
  creative: archiving('archiveCreative', { id: 'advertiserId', cid: 'id' }, ['advertiserId']),
  asset: archiving('deleteAsset', { id: 'advertiserId', assetId: 'id' }, ['advertiserId']),
  connection: archiving('disconnectCreativeEngine', { id: 'engineId', connectionId: 'id' }, ['engineId']),
  adcp_agent: archiving('deleteAdcpAgent', { id: 'id' }),
  webhook_subscription: archiving('deleteWebhookSubscription', { id: 'id' }),
} satisfies Partial<Record<KindName, Step>>;
type ArchivedKind = keyof typeof archived;

const stepFor = (input: Given): Step => {
  const kind = input['kind'] as ArchivedKind;
  const step = archived[kind];
  requirePlaces(kind, step.needs, input);
  return step;
};

const consequences: Readonly<Record<ArchivedKind, string>> = {
  advertiser:
    'It can be restored. Everything below it becomes read-only, and its syndication is switched off.',
  campaign: 'It stays readable and cannot be restored.',
  creative: 'It leaves all its campaigns, and its name becomes free.',
  asset: 'The file is deleted.',
  connection: 'The engine is disconnected, and its key is deleted.',
  adcp_agent: 'The agent is removed.',
  webhook_subscription: 'Nothing more is delivered.',
};

const describeArchive = async (
  input: Given,
  { invoke }: ToolCall,
  operations: Operations,
): Promise<Described> => {
  const named = input as unknown as Named & { readonly kind: ArchivedKind };
  const object = await readKind(operations, invoke, named);
  const name = object['name'] ?? object['engineName'] ?? object['url'];
  const { revision } = object;
  return {
    summary: `Archive ${named.kind.replaceAll('_', ' ')} ${JSON.stringify(name)} (${named.id}). ${consequences[named.kind]}`,
    ...(typeof revision === 'number' && { revision }),
  };
};

const kindNames = Object.keys(archived) as [ArchivedKind, ...ArchivedKind[]];

const { advertiserId, engineId } = placeArguments((place) => {
  const users = kindNames.filter((kind) => archived[kind].needs.some((one) => one === place));
  return `Needed for ${users.join(', ')}.`;
});
export const archiveTools: readonly WriteTool[] = [
  {
    name: 'archive',
    title: 'Archive or delete an object',
    description:
      'Archives an advertiser, campaign or creative, or deletes an asset, a connection, an AdCP agent or a webhook ' +
      'subscription. To delete an event source, audience or catalog, use its save tool. Needs a confirmation: the first ' +
      'call returns {action: "pending_confirmation", confirmation}; show its summary to the person you act for, then ' +
      'repeat the call with confirm: true and confirmationUid. Returns {action: "archived", kind, id}. Example: ' +
      '{"kind":"campaign","id":"cmp_…","idempotencyKey":"…"}.',
    annotations: destroys,
    arguments: { kind: z.enum(kindNames), id: idArgument('Id of the object.'), advertiserId, engineId },
    steps: Object.values(archived) as unknown as readonly [Step, ...Step[]],
    choose: stepFor,
    confirmed: { describe: describeArchive, showsState: true },
  },
  {
    name: 'restore',
    title: 'Restore an archived advertiser',
    description:
      'Makes an archived advertiser active again. Its syndication stays switched off. Returns {action: "restored", ' +
      'object}. Example: {"kind":"advertiser","id":12,"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { kind: z.enum(['advertiser']), id: idArgument('Id of the advertiser.') },
    steps: [{ verb: 'restore', action: 'restored', operationId: 'restoreAdvertiser', params: { id: 'id' } }],
  },
];
