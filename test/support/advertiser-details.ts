import type { CreateAdvertiser } from '../../domain/advertisers/advertiser.ts';

/** The details of a new advertiser with default values. */
export const advertiserDetails: CreateAdvertiser['details'] = {
  name: 'Acme',
  sandbox: false,
  primaryCurrency: 'USD',
  brandCountries: [],
  channels: [],
  optimizationApplyMode: 'MANUAL',
  autonomy: { inventorySelection: 'manual', rebriefing: 'manual' },
  controls: { exclusions: [] },
  utmConfig: [],
  labels: {},
};
