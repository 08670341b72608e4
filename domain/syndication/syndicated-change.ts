/** These events change nothing that agents receive. */
const UNCHANGING: readonly string[] = ['CatalogFeedAsked', 'CatalogFeedFailed'];

export const isSyndicatedChange = ({ type }: { readonly type: string }): boolean =>
  !UNCHANGING.includes(type);
