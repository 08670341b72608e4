import { z } from 'zod';

const labels = {
  image: 'Image',
  html5: 'HTML5',
  display_tag: 'Display tag',
  image_carousel: 'Image carousel',
  video_hosted: 'Video',
  video_vast: 'Video (VAST)',
  audio_hosted: 'Audio',
  audio_vast: 'Audio (VAST)',
  audio_daast: 'Audio (DAAST)',
  sponsored_placement: 'Sponsored placement',
  native_in_feed: 'Native in-feed',
  responsive_creative: 'Responsive creative',
  agent_placement: 'Agent placement',
  seller_rendered_stateful_display: 'Seller-rendered display',
  coordinated_placements: 'Coordinated placements',
  custom: 'Custom',
} as const;

export const FormatKind = z.enum(Object.keys(labels) as [keyof typeof labels, ...(keyof typeof labels)[]]);
export type FormatKind = keyof typeof labels;

export const formatLabelOf = (kind: FormatKind): string => labels[kind];
