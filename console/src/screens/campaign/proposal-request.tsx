import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { BUYER, useRead } from '../../api/query.ts';
import type { Campaign, ProposalRequest, ProposalSeller } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { Go } from '../../pieces/go.tsx';
import { Facts, ObjectPage } from '../../pieces/object-page.tsx';
import { useReadAgainAt } from '../../pieces/read-again.ts';
import { Time } from '../../pieces/time.tsx';
import { SellerAnswer } from './proposal-seller.tsx';
import { roundsPath } from './rounds-path.ts';
import { SideBySide } from './side-by-side.tsx';

const LIMIT = 50;
/** All pages are read again when the round changes, and requests are limited to 100 a minute. */
const PAGES_MAX = 10;

const order: readonly ProposalSeller['status'][] = ['quoted', 'products', 'pending', 'failed'];

/** The sellers as they are now, each with its products of all pages that were read; proposals come first. */
const sellersOf = (pages: readonly ProposalRequest[]): readonly ProposalSeller[] =>
  (pages.at(-1)?.perSeller ?? [])
    .map((seller) => ({
      ...seller,
      products: pages.flatMap(
        ({ perSeller }) => perSeller.find(({ sellerId }) => sellerId === seller.sellerId)?.products ?? [],
      ),
    }))
    .sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status));

/** While sellers have time left, the answer says when to read again. What comes later is reported by events. */
const useRound = (path: string) => {
  const read = useInfiniteQuery({
    queryKey: [path, 'products'],
    queryFn: async ({ pageParam, signal }) =>
      (await call<ProposalRequest>({ path, query: { limit: LIMIT, cursor: pageParam }, signal })).data,
    initialPageParam: '',
    getNextPageParam: ({ page }, pages) => (pages.length < PAGES_MAX ? page.nextCursor : undefined),
  });
  const pages = read.data?.pages ?? [];
  const round = pages.at(-1);
  const againMs = round?.status === 'running' ? (round.poll?.afterSeconds ?? 0) * 1_000 : 0;
  const again = againMs === 0 ? undefined : new Date(read.dataUpdatedAt + againMs).toISOString();
  useReadAgainAt(path, again, read.dataUpdatedAt);
  return {
    read,
    round,
    sellers: sellersOf(pages),
    shown: pages.reduce((sum, { page }) => sum + page.returned, 0),
  };
};

const RoundPage = () => {
  const { id = '', executionId = '' } = useParams({ strict: false });
  const path = `${roundsPath(id)}/${executionId}`;
  const { data: campaign } = useRead<Campaign>(`${BUYER}/campaigns/${id}`);
  const { read, round, sellers, shown } = useRound(path);
  const more = round !== undefined && (
    <MoreProducts
      shown={shown}
      total={round.page.total}
      isReading={read.isFetchingNextPage}
      onMore={read.hasNextPage ? () => void read.fetchNextPage() : undefined}
    />
  );
  return (
    <ObjectPage
      title="What sellers propose"
      mark={<State of={round?.status} />}
      about={
        <>
          For <Go to={`/campaigns/${id}?tab=proposals`}>{campaign?.name ?? id}</Go>
        </>
      }
      path={path}
      data={read.data?.pages[0]}
      error={read.error}
      tabs={
        round === undefined
          ? []
          : [
              {
                name: 'sellers',
                label: 'Sellers',
                content: () => (
                  <Stack>
                    <Summary round={round} />
                    {sellers.map((seller) => (
                      <SellerAnswer
                        key={seller.sellerId}
                        seller={seller}
                        isRunning={round.status === 'running'}
                      />
                    ))}
                    {more}
                  </Stack>
                ),
              },
              {
                name: 'compare',
                label: 'Side by side',
                content: () => (
                  <Stack>
                    <SideBySide sellers={sellers} />
                    {more}
                  </Stack>
                ),
              },
            ]
      }
    />
  );
};

const statusText: Readonly<Record<ProposalRequest['status'], string>> = {
  running: 'Sellers have time left. What they answer appears here.',
  complete: 'Every seller has answered.',
  partial: 'Some sellers answered, others failed or still work on it.',
  failed: 'No seller answered.',
};

const sellersText = (summary: ProposalRequest['summary']): string =>
  [
    [summary.sellersQuoted, 'proposed a plan'],
    [summary.sellersWithProducts, 'offered products'],
    [summary.sellersFailed, 'failed'],
    [summary.sellersPending, 'not answered yet'],
  ].reduce(
    (text, [count, what]) => (count === 0 ? text : `${text}, ${count} ${what}`),
    `${summary.sellersRequested} in all`,
  );

const Summary = ({ round }: { readonly round: ProposalRequest }) => {
  const { executionId, status, startedAt, completedAt, summary } = round;
  return (
    <Paper withBorder p="lg">
      <Text role="status" mb="sm">
        {statusText[status]}
      </Text>
      <Facts
        facts={[
          ['Round', <CopyId key="id" id={executionId} what="round id" />],
          ['Asked', <Time key="asked" at={startedAt} />],
          ['Ended', <Time key="ended" at={completedAt} />],
          ['Sellers', sellersText(summary)],
        ]}
      />
    </Paper>
  );
};

interface MoreProps {
  readonly shown: number;
  readonly total: number;
  readonly isReading: boolean;
  /** Undefined: there is no further page, or it is not shown here. */
  readonly onMore: (() => void) | undefined;
}

const MoreProducts = ({ shown, total, isReading, onMore }: MoreProps) =>
  shown >= total ? null : (
    <Group>
      <Text size="sm">
        {shown} of {total} products are shown{onMore === undefined ? '. Programs can read the others.' : '.'}
      </Text>
      {onMore !== undefined && (
        <Button size="xs" variant="default" loading={isReading} onClick={onMore}>
          More products
        </Button>
      )}
    </Group>
  );

export default RoundPage;
