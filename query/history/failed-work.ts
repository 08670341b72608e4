/** The service's own work on a request. The audit log lists these events as failed. */
export const failedWork: ReadonlySet<string> = new Set(['SyndicationFailed', 'CatalogFeedFailed']);
