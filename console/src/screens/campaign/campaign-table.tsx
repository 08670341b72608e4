import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { BUYER } from '../../api/query.ts';
import type { Campaign } from '../../api/types.ts';
import { advertiserFilter, useAdvertisers } from '../../pieces/advertiser-filter.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { moneyText } from '../../pieces/money.ts';

const columnsOf = (nameOf: (advertiserId: number) => string): readonly Column<Campaign>[] => [
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, name }) => <Go to={`/campaigns/${id}`}>{name}</Go>,
  },
  { title: 'Phase', text: ({ phase }) => phase, cell: ({ phase }) => <State of={phase} /> },
  { title: 'Budget', text: ({ budget }) => moneyText(budget) },
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="campaign id" short />,
    wide: true,
  },
  {
    title: 'Advertiser',
    text: ({ advertiserId }) => nameOf(advertiserId),
    cell: ({ advertiserId }) => <Go to={`/advertisers/${advertiserId}`}>{nameOf(advertiserId)}</Go>,
    wide: true,
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

const filters = [
  {
    name: 'phase',
    label: 'Phase',
    choices: [
      ['', 'All but archived'],
      ...['draft', 'active', 'paused', 'completed', 'archived'].map((phase) => [phase, phase] as const),
    ],
  },
] as const;

interface Props {
  readonly advertiserId?: number;
  readonly create?: ReactNode;
}

/** @param advertiserId undefined: of all advertisers */
export const CampaignTable = ({ advertiserId, create }: Props) => {
  const advertisers = useAdvertisers();
  const names = new Map(advertisers.map(({ id, name }) => [id, name]));
  return (
    <ListTable<Campaign>
      name="campaigns"
      path={`${BUYER}/campaigns`}
      query={{ advertiserId }}
      columns={columnsOf((id) => names.get(id) ?? `Advertiser ${id}`)}
      rowKey={({ id }) => id}
      filters={advertiserId === undefined ? [...filters, advertiserFilter(advertisers)] : filters}
      empty={
        <Stack align="flex-start">
          <Text>
            There is no campaign yet. A campaign starts as a draft: nothing is bought before you launch it.
          </Text>
          {create}
        </Stack>
      }
    />
  );
};
