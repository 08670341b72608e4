import { z } from 'zod';
import { invalid } from '../../shared/http/errors.ts';
import { idArgument } from '../places.ts';
import { inTheOpen, writes } from '../tool.ts';
import type { Given, Step, WriteTool } from '../write-tool.ts';

const inCampaign = { id: 'campaignId' } as const;
const campaignId = idArgument('Id of the campaign.');
const advertiserId = idArgument('Id of the advertiser.');
const creativeId = idArgument('Id of the creative.');

const create: Step = {
  verb: 'create in a campaign',
  action: 'created',
  operationId: 'createCampaignCreative',
  params: inCampaign,
};
const createInLibrary: Step = {
  verb: 'create in the library',
  action: 'created',
  operationId: 'createAdvertiserCreative',
  params: { id: 'advertiserId' },
};
const update: Step = {
  verb: 'update',
  action: 'updated',
  operationId: 'updateCampaignCreative',
  params: { ...inCampaign, cid: 'creativeId' },
};

/** @throws ApiError VALIDATION_ERROR if it is not clear where the creative is */
const chooseCreative = (input: Given): Step => {
  const { creativeId: id, campaignId: campaign, advertiserId: advertiser } = input as Record<string, unknown>;
  if (id !== undefined && campaign === undefined) {
    throw invalid('campaignId is needed to update a creative: one of its campaigns.', 'campaignId');
  }
  if (campaign === undefined && advertiser === undefined) {
    throw invalid('Give the campaignId of the campaign, or the advertiserId of the library.', 'campaignId');
  }
  if (campaign !== undefined && advertiser !== undefined) {
    throw invalid('Give campaignId or advertiserId, not both.', 'advertiserId');
  }
  if (id !== undefined) return update;
  return campaign === undefined ? createInLibrary : create;
};

const start: Step = {
  verb: 'start',
  action: 'started',
  operationId: 'createCreativeSession',
  params: inCampaign,
};
const ofSession = { ...inCampaign, sid: 'sessionId' } as const;
const refine: Step = {
  verb: 'refine',
  action: 'refined',
  operationId: 'refineCreativeSessionVariant',
  params: { ...ofSession, variantId: 'variantId' },
};
const evaluate: Step = {
  verb: 'evaluate',
  action: 'evaluated',
  operationId: 'evaluateCreativeSession',
  params: ofSession,
};
const finalize: Step = {
  verb: 'finalize',
  action: 'finalized',
  operationId: 'finalizeCreativeSession',
  params: ofSession,
  member: 'session',
};
const sessionSteps = { start, refine, evaluate, finalize } as const;

/** @throws ApiError VALIDATION_ERROR if an id is missing */
const chooseSession = (input: Given): Step => {
  const { step, sessionId, variantId } = input as {
    [name: string]: unknown;
    step: keyof typeof sessionSteps;
  };
  if (step !== 'start' && sessionId === undefined)
    throw invalid(`sessionId is needed to ${step}.`, 'sessionId');
  if (step === 'refine' && variantId === undefined)
    throw invalid('variantId is needed to refine.', 'variantId');
  return sessionSteps[step];
};

export const creativeTools: readonly WriteTool[] = [
  {
    name: 'save_creative',
    title: 'Create or change a creative',
    description:
      'Creates a creative in a campaign (campaignId) or in the library of an advertiser (advertiserId), or with ' +
      'creativeId and campaignId changes one: members that you leave out stay. Its files are assets: upload_creative_asset. ' +
      'A change after an approval starts the review again. Returns {action: "created" | "updated", object}. Example: ' +
      '{"campaignId":"cmp_…","formatKind":"image","slots":[{"slotId":"main","kind":"asset","assetId":"ast_…"}],' +
      '"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: {
      creativeId: idArgument('Changes this creative. Absent: creates one.').optional(),
      campaignId: campaignId.optional(),
      advertiserId: idArgument('Creates it in the library of this advertiser.').optional(),
    },
    steps: [create, createInLibrary, update],
    choose: chooseCreative,
    leftOut: ['id', 'advertiserId', 'state'],
  },
  {
    name: 'duplicate_creative',
    title: 'Copy a creative',
    description:
      'Makes a copy of a creative in the same campaign, as a draft with a free name. Returns {action: "created", object}. ' +
      'Example: {"campaignId":"cmp_…","creativeId":"cre_…","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { campaignId, creativeId },
    steps: [
      {
        verb: 'copy',
        action: 'created',
        operationId: 'duplicateCampaignCreative',
        params: { ...inCampaign, cid: 'creativeId' },
      },
    ],
  },
  {
    name: 'attach_creative',
    title: 'Use a creative in a campaign',
    description:
      'Adds a creative of the advertiser to another of its campaigns; doing it again changes nothing. Returns {action: ' +
      '"attached", object}. Example: {"advertiserId":12,"creativeId":"cre_…","campaignId":"cmp_…","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { advertiserId, creativeId },
    steps: [
      {
        verb: 'attach',
        action: 'attached',
        operationId: 'assignCreativeToCampaign',
        params: { id: 'advertiserId', cid: 'creativeId' },
      },
    ],
  },
  {
    name: 'detach_creative',
    title: 'Take a creative out of a campaign',
    description:
      'Removes a creative from a campaign; it stays in its other campaigns and in the library. Returns {action: ' +
      '"detached"}. Example: {"advertiserId":12,"creativeId":"cre_…","campaignId":"cmp_…","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { advertiserId, creativeId, campaignId },
    steps: [
      {
        verb: 'detach',
        action: 'detached',
        operationId: 'unassignCreativeFromCampaign',
        params: { id: 'advertiserId', cid: 'creativeId', campaignId: 'campaignId' },
        names: ['creativeId', 'campaignId'],
      },
    ],
  },
  {
    name: 'submit_creative',
    title: 'Submit a creative to sellers',
    description:
      'Sends a creative to sellers for review, or again after a change. A launch does it by itself. The decisions come ' +
      'later: get the creative and read sellerStatuses. Returns {action: "submitted", object: {sellerStatuses, taskId}}. ' +
      'Example: {"creativeId":"cre_…","sellerIds":[1,2],"idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: { creativeId },
    steps: [
      { verb: 'submit', action: 'submitted', operationId: 'submitCreative', params: { cid: 'creativeId' } },
    ],
  },
  {
    name: 'review_creative',
    title: "Record a seller's decision on a creative",
    description:
      'For the account of a seller, or for any seller on a sandbox advertiser: approves, rejects or suspends a submitted ' +
      'creative. Returns {action: "reviewed", object}. Example: {"creativeId":"cre_…","sellerId":1,"status":"approved",' +
      '"expectedRevision":2,"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { creativeId, sellerId: idArgument('Id of the seller.') },
    steps: [
      {
        verb: 'review',
        action: 'reviewed',
        operationId: 'reviewCreative',
        params: { cid: 'creativeId', sellerId: 'sellerId' },
      },
    ],
  },
  {
    name: 'save_creative_session',
    title: 'Make a creative with an engine',
    description:
      'A session makes variants of a creative with a creative engine. step "start" begins one in a campaign, "refine" ' +
      'gives feedback on a variant, "evaluate" scores the variants, "finalize" makes a creative of one variant. Read a ' +
      'session with get (kind creative_session). Returns {action, object, creativeId?}. Example: {"campaignId":"cmp_…",' +
      '"step":"start","title":"Spring","prompt":"…","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: {
      campaignId,
      step: z.enum(['start', 'refine', 'evaluate', 'finalize']),
      sessionId: idArgument('Id of the session. Needed except to start.').optional(),
      variantId: idArgument('Needed to refine and to finalize.').optional(),
    },
    steps: [start, refine, evaluate, finalize],
    choose: chooseSession,
  },
  {
    name: 'upload_creative_asset',
    title: 'Reserve an upload for a file',
    description:
      'Reserves an upload for an image, video, audio or other file of an advertiser. It takes no bytes: send them to ' +
      'uploadUrl with the given method and headers, without a credential, before expiresAt. Returns {action: "reserved", ' +
      'object: {uploadId, assetId, uploadUrl, method, headers, maxBytes, expiresAt}}; use assetId in the slots of a ' +
      'creative. Example: {"advertiserId":12,"name":"banner.png","mimeType":"image/png","idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { advertiserId },
    steps: [
      {
        verb: 'reserve',
        action: 'reserved',
        operationId: 'reserveAssetUpload',
        params: { id: 'advertiserId' },
      },
    ],
  },
];
