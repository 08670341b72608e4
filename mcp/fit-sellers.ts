import { jsonBytesOf, RESULT_BYTES_MAX, type Omitted } from './truncate.ts';

interface SellersResult {
  readonly perSeller: readonly { readonly proposalIds: readonly string[] }[];
}

/**
 * No page can shorten the ids of proposals, which every page has: of the longest lists, as many are emptied and named
 * in `omitted` as a result has no room for.
 * @param bytesMax of the result as JSON
 */
export const withFewerIds = <Result extends SellersResult>(
  result: Result,
  bytesMax = RESULT_BYTES_MAX,
): Result & { readonly omitted?: Omitted } => {
  const longestFirst = result.perSeller
    .map(({ proposalIds }, index) => ({ index, bytes: jsonBytesOf(proposalIds) }))
    .toSorted((one, other) => other.bytes - one.bytes);
  let fitted: Result & { readonly omitted?: Omitted } = result;
  for (const { index, bytes } of longestFirst) {
    if (jsonBytesOf(fitted) <= bytesMax) break;
    fitted = {
      ...fitted,
      perSeller: fitted.perSeller.map((seller, n) => (n === index ? { ...seller, proposalIds: [] } : seller)),
      omitted: { ...fitted.omitted, [`/perSeller/${index}/proposalIds`]: bytes },
    };
  }
  return fitted;
};
