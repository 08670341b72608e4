/** Events of what can be syndicated that change nothing that an agent is asked for. */
const UNCHANGING: readonly string[] = ['CatalogFeedAsked', 'CatalogFeedFailed'];

/** Whether an event of what can be syndicated may change what an agent is to have of it. */
export const isSyndicatedChange = ({ type }: { readonly type: string }): boolean =>
  !UNCHANGING.includes(type);
