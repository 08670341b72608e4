import { describe, expect, it } from '@jest/globals';
import { withFewerIds } from '../../mcp/fit-sellers.ts';

const seller = (sellerId: number, ids: number) => ({
  sellerId,
  proposalIds: Array.from({ length: ids }, (_, n) => `proposal-${n}`),
});

describe('a result about many proposals', () => {
  it('that fits stays as it is', () => {
    const result = { perSeller: [seller(1, 3), seller(2, 0)] };
    expect(withFewerIds(result, 1_000)).toBe(result);
  });

  it('loses its longest lists first, and says which', () => {
    const result = { perSeller: [seller(1, 3), seller(2, 400), seller(3, 200), seller(4, 5)] };
    const fitted = withFewerIds(result, 3_500);
    expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThanOrEqual(3_500);
    expect(fitted.perSeller.map(({ proposalIds }) => proposalIds.length)).toEqual([3, 0, 200, 5]);
    expect(fitted.omitted).toEqual({ '/perSeller/1/proposalIds': expect.any(Number) });
    expect(Object.keys(withFewerIds(result, 600).omitted ?? {})).toEqual([
      '/perSeller/1/proposalIds',
      '/perSeller/2/proposalIds',
    ]);
  });
});
