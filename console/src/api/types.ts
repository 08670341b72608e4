import type { Schema } from './schema.ts';

/** Short names for what the API answers with. The client has it all, generated from the API document. */

export type User = Schema<'CurrentUser'>;
export type Advertiser = Schema<'Advertiser'>;
export type Campaign = Schema<'Campaign'>;
export type CampaignPhase = Campaign['phase'];
export type Creative = Schema<'CampaignCreative'>;
export type CreativeDetail = Schema<'CreativeDetail'>;
export type SellerStatus = Schema<'SellerStatus'>;
export type Seller = Schema<'Seller'>;
export type Asset = Schema<'LibraryAsset'>;

export type Change = Schema<'Change'>;
export type SetBy = Schema<'SetBy'>;
export type HistoryEvent = Schema<'HistoryEvent'>;
export type HistoryPage = Schema<'History'>;
export type Explanation = Schema<'Explanation'>;
export type Difference = Schema<'Difference'>;
export type AuditEntry = Schema<'AuditLog'>;
export type AuditLogs = Schema<'AuditLogs'>;

export type CausedByRequest = Schema<'CausedByRequest'>;
export type CauseNode = Schema<'CauseNode'>;
export type CommandNode = Extract<CauseNode, { kind: 'command' }>;
export type JobNode = Extract<CauseNode, { kind: 'job' }>;
export type AgentCallNode = Extract<CauseNode, { kind: 'agentCall' }>;

/** One event of the stream. */
export type LiveEvent = Schema<'Event'>;

export type Audience = Schema<'Audience'>;
export type Catalog = Schema<'Catalog'>;
export type EventSource = Schema<'EventSource'>;
export type Agent = Schema<'AdcpAgent'>;
export type SyndicationRecord = Schema<'SyndicationRecord'>;
export type ReceivedEvents = Schema<'ReceivedEvents'>;
export type ConversionResult = Schema<'ConversionBatchResult'>;
export type EventPage = Schema<'EventPage'>;
export type EventTypes = Schema<'EventTypeList'>;

export type ProposalRequest = Schema<'ProposalRequest'>;
export type ProposalRequestSummary = Schema<'ProposalRequestSummary'>;
export type ProposalSeller = Schema<'ProposalSeller'>;
export type ProposedProduct = ProposalSeller['products'][number];
export type PendingConfirmation = Schema<'PendingConfirmation'>;
export type DeliveryReport = Schema<'DeliveryReport'>;

export type Health = Schema<'Health'>;
export type Ready = Schema<'Ready'>;
