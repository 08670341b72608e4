interface Occasion {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** True for events after which a creative may become ready in a running campaign, and so be submitted to sellers. */
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

/**
 * The name of the command that submits a creative: a repeat of the submission is the same command.
 * @param position of the event that made the submission due
 */
export const submissionName = (position: string): string => `submit:${position}`;
