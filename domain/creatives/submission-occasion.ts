interface Occasion {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Events of campaigns and creatives after which a creative may be for the first time what is submitted: ready, in a
 * campaign that runs.
 */
export const isSubmissionOccasion = ({ type, data }: Occasion): boolean => {
  switch (type) {
    case 'CampaignLaunched':
    case 'CampaignReactivated':
    case 'CreativeAttached':
      return true;
    case 'CreativeCreated':
      return data['campaignId'] !== undefined && data['state'] === 'ready';
    case 'CreativeUpdated':
      return (data['changes'] as { readonly state?: unknown } | undefined)?.state === 'ready';
    default:
      return false;
  }
};
