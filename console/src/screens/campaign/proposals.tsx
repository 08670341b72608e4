import { Button, Drawer, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Campaign, ProposalRequestSummary } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { timeText } from '../../pieces/time.tsx';
import { AskSellers } from './ask-sellers.tsx';
import { roundsPath } from './rounds-path.ts';

const columns: readonly Column<ProposalRequestSummary>[] = [
  {
    title: 'Asked',
    text: ({ startedAt }) => startedAt,
    cell: ({ campaignId, executionId, startedAt }) => (
      <Go to={`/campaigns/${campaignId}/proposal-requests/${executionId}`}>{timeText(startedAt)}</Go>
    ),
  },
  { title: 'Status', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  { title: 'Sellers', text: ({ summary }) => summary.sellersRequested },
  { title: 'Proposed', text: ({ summary }) => summary.sellersQuoted },
  { title: 'With products', text: ({ summary }) => summary.sellersWithProducts, wide: true },
  { title: 'Failed', text: ({ summary }) => summary.sellersFailed, wide: true },
  { title: 'Pending', text: ({ summary }) => summary.sellersPending, wide: true },
];

/** Rounds in which sellers were asked what they would sell for the campaign, newest first. */
export const Proposals = ({ campaign }: { readonly campaign: Campaign }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const isOver = campaign.phase === 'completed' || campaign.phase === 'archived';
  const ask = !isOver && <Button onClick={open}>Ask sellers</Button>;
  return (
    <Stack>
      <Group>{ask}</Group>
      <ListTable<ProposalRequestSummary>
        name="rounds"
        path={roundsPath(campaign.id)}
        columns={columns}
        rowKey={({ executionId }) => executionId}
        empty={
          <Text>
            No seller was asked yet. Sellers get the brief, and say within seconds what they would sell for
            it.
          </Text>
        }
      />
      <Drawer opened={isOpen} onClose={close} title="Ask sellers">
        <AskSellers campaign={campaign} />
      </Drawer>
    </Stack>
  );
};
