/** A feed is read. Key: the catalog. */
export const CATALOG_FEED = 'catalog-feed';
