import type { CampaignPhase } from '../../../../domain/campaigns/resource.ts';
import type { Command } from '../command.ts';

/** What a client works on. */
export type Trade = 'advertisers' | 'campaigns' | 'creatives' | 'sessions' | 'engines' | 'uploads';
export const allTrades: readonly Trade[] = [
  'advertisers',
  'campaigns',
  'creatives',
  'sessions',
  'engines',
  'uploads',
];

/** All that a client has made: it alone writes it, so it knows what must come of each command. */
export interface Own {
  readonly customerId: number;
  /** What it does: mostly the first, now and then one of the others. */
  readonly trades: readonly [Trade, ...Trade[]];
  /** Of all that has to be below an advertiser; never archived or renamed, a sandbox. */
  home?: { readonly id: number; readonly name: string };
  readonly advertisers: OwnAdvertiser[];
  readonly campaigns: OwnCampaign[];
  readonly creatives: OwnCreative[];
  readonly sessions: OwnSession[];
  readonly assets: OwnAsset[];
  /** Of clients whose trade is engines: nobody else of the account connects this one. */
  readonly engineId: number;
  connection?: OwnConnection;
}

export const emptyHands = (identity: Pick<Own, 'customerId' | 'trades' | 'engineId'>): Own => ({
  ...identity,
  advertisers: [],
  campaigns: [],
  creatives: [],
  sessions: [],
  assets: [],
});

export interface OwnAdvertiser {
  readonly id: number;
  status: 'ACTIVE' | 'ARCHIVED';
}

export interface OwnCampaign {
  /** As shown. */
  readonly id: string;
  phase: CampaignPhase;
  revision: number;
}

export interface OwnCreative {
  /** As shown. */
  readonly id: string;
  state: 'draft' | 'ready' | 'archived';
  promoted: boolean;
  revision: number;
  /** Under the name of a copy, which a copy in another campaign may have as well. */
  isCopy: boolean;
  /** As shown. */
  readonly campaignIds: Set<string>;
  /** What each seller that it was submitted to says. */
  readonly reviews: Map<number, 'processing' | 'approved'>;
}

export interface OwnSession {
  /** As shown. */
  readonly id: string;
  readonly campaign: OwnCampaign;
  /** As shown, once they were: the first is evaluated by then. */
  variants: readonly string[];
  stages: number;
  isFinal: boolean;
}

export interface OwnConnection {
  /** As shown. */
  readonly id: string;
  readonly accounts: readonly string[];
  selected?: string;
  readonly mapped: Set<string>;
}

export interface OwnAsset {
  /** As shown. */
  readonly id: string;
  /** Path and token that the bytes are sent to. */
  readonly url: string;
  readonly bytes: Buffer;
  status: 'RESERVED' | 'READY' | 'REMOVED';
}

/** Commands that must be refused. */
export const WRONG = 0.05;

/** A command that may not stay unknown says so: others would be decided on what came of it. */
export type Choice = Command & { readonly mayBeLost?: boolean };
