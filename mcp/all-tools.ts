import { createConfirm } from './confirm.ts';
import type { Confirmations } from '../shared/confirmations/confirmations.ts';
import type { ToolCursors } from './cursor.ts';
import type { Operations } from './operations.ts';
import type { Tool } from './tool.ts';
import { advertiserDataTools } from './tools/advertiser-data.ts';
import { advertiserTools } from './tools/advertisers.ts';
import { archiveTools } from './tools/archive.ts';
import { auditLogTool } from './tools/audit-log.ts';
import { campaignTools } from './tools/campaigns.ts';
import { connectionTools } from './tools/connections.ts';
import { creativeTools } from './tools/creatives.ts';
import { getDeliveryTool } from './tools/delivery.ts';
import { getStatusTool } from './tools/get-status.ts';
import { getTool } from './tools/get.ts';
import { diffTool, explainTool, historyTool } from './tools/history.ts';
import { listEventsTool } from './tools/list-events.ts';
import { requestProposalsTool } from './tools/proposals.ts';
import { searchTool } from './tools/search.ts';
import { writeTool } from './write-tool.ts';

const writing = [
  ...advertiserTools,
  ...campaignTools,
  ...creativeTools,
  ...advertiserDataTools,
  ...connectionTools,
  ...archiveTools,
];

export interface ToolServices {
  readonly version: string;
  readonly operations: Operations;
  readonly cursors: ToolCursors;
  readonly confirmations: Pick<Confirmations, 'offer' | 'use' | 'isUsedBy'>;
}

/** In the order in which agents see them. */
export const allTools = ({ version, operations, cursors, confirmations }: ToolServices): readonly Tool[] => {
  const reads = { operations, cursors };
  const writes = { operations, confirm: createConfirm(confirmations) };
  return [
    getStatusTool(version),
    searchTool(reads),
    getTool(reads),
    historyTool(reads),
    diffTool(reads),
    explainTool(reads),
    listEventsTool(operations),
    getDeliveryTool(operations),
    auditLogTool(reads),
    requestProposalsTool(operations),
    ...writing.map((definition) => writeTool(writes, definition)),
  ];
};
