import { idArgument } from '../places.ts';
import { inTheOpen, writes, type ToolCall } from '../tool.ts';
import type { Given, Step, WriteTool } from '../write-tool.ts';
import type { Described } from '../confirm.ts';

const create: Step = { verb: 'create', action: 'created', operationId: 'createCampaign' };
const update: Step = {
  verb: 'update',
  action: 'updated',
  operationId: 'updateCampaign',
  params: { id: 'campaignId' },
};

const campaignId = idArgument('Id of the campaign.');

const phaseTool = (
  name: string,
  operationId: string,
  action: string,
  title: string,
  description: string,
): WriteTool => ({
  name,
  title,
  description: `${description} Returns {action, object}.`,
  annotations: writes,
  arguments: { campaignId },
  steps: [{ verb: action, action, operationId, params: { id: 'campaignId' } }],
});

interface LaunchedCampaign {
  readonly name: string;
  readonly revision: number;
  readonly budget?: { readonly total: number; readonly currency: string };
  readonly flight?: { readonly startAt: string; readonly endAt: string };
}

const describeLaunch = async ({ campaignId: id }: Given, { invoke }: ToolCall): Promise<Described> => {
  const { data } = await invoke('getCampaign', { params: { id: String(id) } });
  const { name, revision, budget, flight } = data as LaunchedCampaign;
  const money = budget === undefined ? 'no budget' : `a budget of ${budget.total} ${budget.currency}`;
  const time = flight === undefined ? 'no dates' : `from ${flight.startAt} to ${flight.endAt}`;
  return {
    summary: `Launch campaign ${JSON.stringify(name)} (${String(id)}), with ${money}, ${time}. Its creatives are submitted to the sellers.`,
    revision,
  };
};

export const campaignTools: readonly WriteTool[] = [
  {
    name: 'save_campaign',
    title: 'Create or change a campaign',
    description:
      'Creates a campaign, a draft that spends nothing, or with campaignId changes one: members that you leave out stay, ' +
      'null clears one. Send expectedRevision to be refused if someone has changed it since you read it. ' +
      'Returns {action: "created" | "updated", object}. Example: {"advertiserId":12,"name":"Spring",' +
      '"budget":{"total":5000},"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { campaignId: idArgument('Changes this campaign. Absent: creates one.').optional() },
    steps: [create, update],
    choose: (input) => (input['campaignId'] === undefined ? create : update),
    leftOut: ['id', 'phase'],
  },
  {
    name: 'launch_campaign',
    title: 'Launch a campaign',
    description:
      'Makes a draft active: its creatives go to the sellers for review, and it may spend from then on. Needs a ' +
      'confirmation: the first call returns {action: "pending_confirmation", confirmation}; show its summary to the ' +
      'person you act for, then repeat the call with confirm: true and confirmationUid. Returns {action: "launched", ' +
      'object}. Example: {"campaignId":"cmp_…","idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: { campaignId },
    steps: [
      { verb: 'launch', action: 'launched', operationId: 'executeCampaign', params: { id: 'campaignId' } },
    ],
    confirmed: { describe: describeLaunch, showsState: true },
  },
  phaseTool(
    'pause_campaign',
    'pauseCampaign',
    'paused',
    'Pause a campaign',
    'Pauses an active campaign. reactivate_campaign continues it. Example: {"campaignId":"cmp_…","idempotencyKey":"…"}.',
  ),
  phaseTool(
    'reactivate_campaign',
    'reactivateCampaign',
    'reactivated',
    'Continue a paused campaign',
    'Makes a paused campaign active again. Example: {"campaignId":"cmp_…","idempotencyKey":"…"}.',
  ),
];
