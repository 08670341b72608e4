import type { CatalogDefinition } from '../../../domain/catalogs/catalog-events.ts';
import { countDelimited } from './count-delimited.ts';
import { countJson } from './count-json.ts';
import { countXml } from './count-xml.ts';
import type { ItemCounter } from './item-counter.ts';

type FeedFormat = Extract<CatalogDefinition['content'], { kind: 'feed' }>['feedFormat'];

const UNKNOWN: ItemCounter = { add: () => undefined, seen: () => 0, count: () => undefined };

/** Elements that are items, by the form of a feed. */
const ELEMENTS: Readonly<Record<NonNullable<FeedFormat>, readonly string[]>> = {
  google_merchant_center: ['item', 'entry'],
  facebook_catalog: ['item', 'entry'],
  linkedin_jobs: ['job'],
  shopify: [],
  custom: ['item', 'entry'],
};
/** Whose text is a table of items. Rows of Shopify's are variants, several to an item. */
const TABLES: readonly FeedFormat[] = ['google_merchant_center', 'facebook_catalog'];
const TABLE_TYPE = /^text\/(?:csv|tab-separated-values)\b/i;

const BOM = [0xef, 0xbb, 0xbf];
const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * By its first sign a feed is XML, JSON or a table; what is none of these is not counted, nor is what is packed.
 * @param contentType as its server says, which often is wrong: it only helps to tell a table from any text
 */
export const createItemCounter = (format: FeedFormat = 'custom', contentType = ''): ItemCounter => {
  const counterFor = (first: number): ItemCounter => {
    if (first === 0x3c) return countXml(ELEMENTS[format]);
    if (first === 0x5b || first === 0x7b) return countJson();
    const isTable = TABLES.includes(format) || (format === 'custom' && TABLE_TYPE.test(contentType));
    return isTable && first >= 0x20 ? countDelimited() : UNKNOWN;
  };
  let counter: ItemCounter | undefined;
  let bytes = 0;
  return {
    add: (piece) => {
      let at = 0;
      while (counter === undefined && at < piece.length) {
        const byte = piece[at] ?? 0;
        if (!isSpace(byte) && byte !== BOM[bytes]) counter = counterFor(byte);
        else at += 1;
        bytes += 1;
      }
      counter?.add(piece.subarray(at));
    },
    seen: () => counter?.seen() ?? 0,
    count: () => counter?.count(),
    isWebPage: () => counter?.isWebPage?.() === true,
  };
};
