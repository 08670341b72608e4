/** Events of resources that do not change what agents receive. */
const UNCHANGING: readonly string[] = ['CatalogFeedAsked', 'CatalogFeedFailed'];

/** True if an event of a resource may change what agents receive. */
export const isSyndicatedChange = ({ type }: { readonly type: string }): boolean =>
  !UNCHANGING.includes(type);
