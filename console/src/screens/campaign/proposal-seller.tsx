import { Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import type { ProposalSeller, ProposedProduct } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { Figures } from '../../pieces/figures.tsx';
import type { Column } from '../../pieces/list-table.tsx';
import { priceText } from './price-text.ts';

const failures = {
  timeout: 'It was silent: no answer in its time.',
  transport: 'It could not be reached, in up to three attempts.',
  protocol: 'It refused, or its answer cannot be used.',
  eligibility: 'It was not asked.',
} as const;

/** The seller's answer in one sentence. Products alone are no proposal. */
const answerText = ({ status, outcome, proposalIds }: ProposalSeller, isRunning: boolean): string => {
  if (status === 'pending')
    return isRunning
      ? 'It has not answered yet.'
      : 'It still works on it. Its answer is taken for 24 hours, and appears here.';
  if (outcome?.reasonCode !== undefined) return failures[outcome.reasonCode];
  if (outcome?.kind === 'no_matching_products') return 'It answered that it has no products that match.';
  if (outcome?.kind === 'no_inventory_for_request')
    return 'It answered that it has nothing left to sell for this.';
  if (status === 'quoted')
    return proposalIds.length === 1 ? 'It proposed a plan.' : `It proposed ${proposalIds.length} plans.`;
  return status === 'products' ? 'It answered with products, and proposed no plan.' : 'It has failed.';
};

/** Its status is `products`, too. */
const answeredNothing = (kind: string | undefined): boolean =>
  kind === 'no_matching_products' || kind === 'no_inventory_for_request';

const guaranteed = { guaranteed: 'guaranteed', non_guaranteed: 'not guaranteed' } as const;

const columns: readonly Column<ProposedProduct>[] = [
  {
    title: 'Product',
    text: ({ name }) => name,
    cell: ({ name, description }) => (
      <>
        <Text size="sm">{name}</Text>
        {description !== undefined && (
          <Text size="xs" c="dimmed" lineClamp={4}>
            {description}
          </Text>
        )}
      </>
    ),
  },
  { title: 'Channels', text: ({ channels }) => channels.join(', '), wide: true },
  {
    title: 'Delivery',
    text: ({ deliveryType }) => (deliveryType === undefined ? '' : guaranteed[deliveryType]),
    wide: true,
  },
  { title: 'Price', text: ({ pricingOptions }) => pricingOptions.map(priceText).join('; ') },
];

interface Props {
  readonly seller: ProposalSeller;
  /** Sellers of the round have time left. */
  readonly isRunning: boolean;
}

export const SellerAnswer = ({ seller, isRunning }: Props) => {
  const { sellerName, status, late, error, proposalIds, products, invalidItems, unlistedProducts, outcome } =
    seller;
  return (
    <Paper withBorder p="lg" role="group" aria-label={sellerName} style={{ minWidth: 0 }}>
      <Stack gap="xs">
        <Group gap="sm">
          <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
            {sellerName}
          </Title>
          <State of={answeredNothing(outcome?.kind) ? outcome?.kind : status} />
          {late === true && <State of="late" />}
        </Group>
        <Text size="sm">{answerText(seller, isRunning)}</Text>
        {error !== undefined && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {error.message}
          </Text>
        )}
        {late === true && (
          <Text size="sm" c="dimmed">
            It answered after its time: the status of the round is as before.
          </Text>
        )}
        {proposalIds.length > 0 && <Plans ids={proposalIds} />}
        {products.length > 0 && (
          <div>
            <Title order={3} size="h5">
              Products
            </Title>
            <Figures
              name={`products of ${sellerName}`}
              rows={products}
              columns={columns}
              rowKey={({ productId }) => productId}
              height={400}
              empty=""
            />
          </div>
        )}
        {invalidItems !== undefined && (
          <Text size="sm" c="dimmed">
            {invalidItems} more left out: what the seller said of them is invalid.
          </Text>
        )}
        {unlistedProducts !== undefined && (
          <Text size="sm" c="dimmed">
            {unlistedProducts} further products are too many to list.
          </Text>
        )}
      </Stack>
    </Paper>
  );
};

const Plans = ({ ids }: { readonly ids: readonly string[] }) => (
  <div>
    <Title order={3} size="h5">
      Proposed plans
    </Title>
    <List listStyleType="none" size="sm" aria-label="Proposed plans">
      {ids.map((id) => (
        <List.Item key={id}>
          <CopyId id={id} what="proposal id" />
        </List.Item>
      ))}
    </List>
  </div>
);
