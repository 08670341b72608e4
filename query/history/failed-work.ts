/**
 * Types of events that say that work of the service came to nothing: what somebody asked for was begun, and has failed
 * since. The audit log has them among what failed.
 */
export const failedWork: ReadonlySet<string> = new Set(['SyndicationFailed', 'CatalogFeedFailed']);
