import { BUYER, useRead } from '../api/query.ts';
import type { Advertiser } from '../api/types.ts';
import type { Filter } from './filters.tsx';

const noAdvertisers: readonly Advertiser[] = [];

/** The newest advertisers, to be shown and chosen by name. */
export const useAdvertisers = (): readonly Advertiser[] =>
  useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, { take: 200 }).data ?? noAdvertisers;

export const advertiserFilter = (advertisers: readonly Advertiser[]): Filter => ({
  name: 'advertiserId',
  label: 'Advertiser',
  choices: [['', 'All'], ...advertisers.map(({ id, name }) => [String(id), name] as const)],
});
