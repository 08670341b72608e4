import { Text } from '@mantine/core';
import { BUYER } from '../api/query.ts';
import type { Creative } from '../api/types.ts';
import { AdvertiserChoice } from '../pieces/advertiser-choice.tsx';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { timeColumn } from '../pieces/time-column.tsx';
import { formatKinds } from './format-kinds.ts';

const columns: readonly Column<Creative>[] = [
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, name }) => <Go to={`/creatives/${id}`}>{name}</Go>,
  },
  { title: 'State', text: ({ state }) => state, cell: ({ state }) => <State of={state} /> },
  { title: 'Format', text: ({ formatLabel }) => formatLabel },
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="creative id" short />,
    wide: true,
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

const filters = [
  { name: 'search', label: 'Name' },
  { name: 'formatKind', label: 'Format', choices: [['', 'All'], ...formatKinds] },
] as const;

const Creatives = () => (
  <Page title="Creatives" about="What people see of a campaign, and what sellers say of it.">
    <AdvertiserChoice>
      {({ id }) => (
        <ListTable<Creative>
          name="creatives"
          path={`${BUYER}/advertisers/${id}/creatives`}
          columns={columns}
          rowKey={(creative) => creative.id}
          filters={filters}
          empty={
            <Text>
              There is no creative yet. Open one of the <Go to="/campaigns">campaigns</Go> and create one
              there.
            </Text>
          }
        />
      )}
    </AdvertiserChoice>
  </Page>
);

export default Creatives;
