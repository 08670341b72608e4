import type { CampaignPhase } from '../../../../domain/campaigns/resource.ts';
import type { Command } from '../command.ts';

/** The kind of resource that a client works on. */
export type Area = 'advertisers' | 'agents' | 'campaigns' | 'creatives' | 'sessions' | 'engines' | 'uploads';
/** Agents are not part of crash runs, which start none. */
export const crashRunAreas: readonly Area[] = [
  'advertisers',
  'campaigns',
  'creatives',
  'sessions',
  'engines',
  'uploads',
];

/** Everything that a client has created. Only this client writes it, so it can predict the result of each command. */
export interface ClientState {
  readonly customerId: number;
  /** Mostly the first area, sometimes one of the others. */
  readonly areas: readonly [Area, ...Area[]];
  /** The parent of resources that need an advertiser: a sandbox, never archived or renamed. */
  home?: { readonly id: number; readonly name: string };
  readonly advertisers: OwnAdvertiser[];
  readonly agents: OwnAgent[];
  readonly campaigns: OwnCampaign[];
  readonly creatives: OwnCreative[];
  readonly sessions: OwnSession[];
  readonly assets: OwnAsset[];
  /** For clients in the area of agents: the agent to register. */
  readonly agent?: { readonly url: string; readonly token: string } | undefined;
  /** Workers submit creatives of active campaigns, so a creative's revision and its reviews cannot be predicted. */
  readonly workersSubmit?: boolean | undefined;
  /** For clients in the area of engines: no other client of the account connects this engine. */
  readonly engineId: number;
  connection?: OwnConnection;
}

export type ClientIdentity = Pick<
  ClientState,
  'customerId' | 'areas' | 'engineId' | 'agent' | 'workersSubmit'
>;

export const emptyClientState = (identity: ClientIdentity): ClientState => ({
  ...identity,
  advertisers: [],
  agents: [],
  campaigns: [],
  creatives: [],
  sessions: [],
  assets: [],
});

export interface OwnAdvertiser {
  readonly id: number;
  status: 'ACTIVE' | 'ARCHIVED';
}

export interface OwnAgent {
  /** As the API shows it. */
  readonly id: string;
  isRemoved: boolean;
}

export interface OwnCampaign {
  /** As the API shows it. */
  readonly id: string;
  phase: CampaignPhase;
  revision: number;
}

export interface OwnCreative {
  /** As the API shows it. */
  readonly id: string;
  state: 'draft' | 'ready' | 'archived';
  promoted: boolean;
  revision: number;
  /** A copy has the name of its original. A copy in another campaign may have the same name. */
  isCopy: boolean;
  /** As the API shows it. */
  readonly campaignIds: Set<string>;
  /** The review of each seller to which it was submitted. */
  readonly reviews: Map<number, 'processing' | 'approved'>;
}

export interface OwnSession {
  /** As the API shows it. */
  readonly id: string;
  readonly campaign: OwnCampaign;
  /** As the API shows them, after the first was evaluated. */
  variants: readonly string[];
  stages: number;
  isFinal: boolean;
}

export interface OwnConnection {
  /** As the API shows it. */
  readonly id: string;
  readonly accounts: readonly string[];
  selected?: string;
  readonly mapped: Set<string>;
}

export interface OwnAsset {
  /** As the API shows it. */
  readonly id: string;
  /** The path and token for the bytes. */
  readonly url: string;
  readonly bytes: Buffer;
  status: 'RESERVED' | 'READY' | 'REMOVED';
}

/** The probability of a command that must be refused. */
export const REFUSED_PROBABILITY = 0.05;

/** False if the outcome must become known, because later commands depend on it. */
export type Choice = Command & { readonly mayBeLost?: boolean };
