/** Areas of the specification without code yet: every method below these paths answers 501. */
const areas = {
  Storefronts: ['/storefronts'],
  'Product Discovery': ['/discovery', '/campaigns/discovery'],
  'Media Buys': ['/media-buys', '/campaigns/{id}/media-buys'],
  'Update Proposals': ['/proposals', '/campaigns/{id}/proposals'],
  'Optimization Suggestions': ['/optimization-suggestions', '/campaigns/{id}/optimization-suggestions'],
  'Property Lists': ['/property-lists', '/advertisers/{id}/property-lists'],
  Reporting: ['/reporting/metrics'],
  Activity: ['/activity'],
} as const;

export const unbuiltPaths: readonly string[] = Object.values(areas)
  .flat()
  .map((path) => `/api/v2/buyer${path}`);

export const unbuiltAreas: readonly string[] = Object.keys(areas);
