/**
 * Types of events that record a failure of the service's own work on a request. The audit log lists them as failed.
 */
export const failedWork: ReadonlySet<string> = new Set(['SyndicationFailed', 'CatalogFeedFailed']);
