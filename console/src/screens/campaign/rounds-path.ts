import { BUYER } from '../../api/query.ts';

/** Rounds in which sellers are asked for proposals for a campaign. */
export const roundsPath = (campaignId: string): string =>
  `${BUYER}/campaigns/${campaignId}/proposal-requests`;
