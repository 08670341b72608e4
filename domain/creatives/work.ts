/** Occasions. Revision: position of the last event; `data.since`: position of the first unseen one. */
export const LAUNCHED_CAMPAIGN = 'launched-campaign';
export const CHANGED_CREATIVE = 'changed-creative';
/** Made of occasions (`command/workers/sellers`). Key: the creative. */
export const SUBMISSION = 'submission';

interface Occasion {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** After such an event a creative may be ready in a running campaign, and so due for submission. */
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

/** A repeat of the submission is the same command. @param position of the event that made it due */
export const submissionName = (position: string): string => `submit:${position}`;
