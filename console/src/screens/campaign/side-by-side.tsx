import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ProposalSeller } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { amountText } from './price-text.ts';

interface Prices {
  readonly model: string;
  readonly currency: string | undefined;
  readonly amounts: number[];
}

/** From the lowest to the highest price of each model and currency: two currencies are never compared. */
const pricesOf = ({ products }: ProposalSeller): readonly string[] => {
  const found = new Map<string, Prices>();
  for (const { pricingModel: model = 'price', currency, fixedPrice, floorPrice } of products.flatMap(
    ({ pricingOptions }) => pricingOptions,
  )) {
    const amount = fixedPrice ?? floorPrice;
    if (amount === undefined) continue;
    const key = JSON.stringify([model, currency]);
    const prices = found.get(key) ?? { model, currency, amounts: [] };
    prices.amounts.push(amount);
    found.set(key, prices);
  }
  return [...found.values()].map(({ model, currency, amounts }) => {
    const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
    const range = low === high ? '' : ` to ${amountText(high, currency)}`;
    return `${model} ${amountText(low, currency)}${range}`;
  });
};

const lines = (texts: readonly string[]): ReactNode =>
  texts.length === 0
    ? '–'
    : texts.map((text) => (
        <Text key={text} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {text}
        </Text>
      ));

const aspects: readonly (readonly [title: string, of: (seller: ProposalSeller) => ReactNode])[] = [
  ['Answer', ({ status }) => <State of={status} />],
  ['Proposed plans', ({ proposalIds }) => lines(proposalIds)],
  ['Products', ({ products, unlistedProducts = 0 }) => products.length + unlistedProducts],
  ['Prices', (seller) => lines(pricesOf(seller))],
  ['Channels', ({ products }) => lines([...new Set(products.flatMap(({ channels }) => channels))])],
  [
    'Guaranteed products',
    ({ products }) => products.filter(({ deliveryType }) => deliveryType === 'guaranteed').length,
  ],
];

/** A column for each seller that offers something. */
export const SideBySide = ({ sellers }: { readonly sellers: readonly ProposalSeller[] }) => {
  const answered = sellers.filter(({ proposalIds, products }) => proposalIds.length + products.length > 0);
  if (answered.length === 0) return <Text>No seller has offered anything: there is nothing to compare.</Text>;
  return (
    <Table.ScrollContainer
      minWidth={160 * (answered.length + 1)}
      type="native"
      tabIndex={0}
      role="region"
      aria-label="All sellers"
    >
      <Table aria-label="Sellers side by side" withColumnBorders style={{ tableLayout: 'fixed' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Td />
            {answered.map(({ sellerId, sellerName }) => (
              <Table.Th key={sellerId} scope="col" style={{ overflowWrap: 'anywhere' }}>
                {sellerName}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {aspects.map(([title, of]) => (
            <Table.Tr key={title}>
              <Table.Th scope="row">{title}</Table.Th>
              {answered.map((seller) => (
                <Table.Td key={seller.sellerId} style={{ verticalAlign: 'top' }}>
                  {of(seller)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
};
