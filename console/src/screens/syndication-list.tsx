import { Text } from '@mantine/core';
import type { SyndicationRecord } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { timeColumn } from '../pieces/time-column.tsx';
import { labelOf, recordsPath, states, useAgents } from './syndicated.ts';

const columnsOf = (agentNames: ReadonlyMap<string, string>): readonly Column<SyndicationRecord>[] => [
  {
    title: 'Resource',
    text: ({ resourceId }) => resourceId,
    cell: ({ advertiserId, id, resourceId }) => (
      <Go to={`/syndication/${advertiserId}/${id}`}>{resourceId}</Go>
    ),
  },
  { title: 'Kind', text: ({ resourceType }) => labelOf(resourceType), wide: true },
  { title: 'Agent', text: ({ adcpAgentId }) => agentNames.get(adcpAgentId) ?? adcpAgentId },
  { title: 'State', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  {
    title: 'Error',
    text: ({ errorMessage }) => errorMessage ?? '',
    cell: ({ errorMessage }) => (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {errorMessage ?? ''}
      </Text>
    ),
    wide: true,
  },
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="syndication id" short />,
    wide: true,
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

/** Every delivery of the advertiser, last changed first. Its filters are those of the page. */
export const SyndicationList = ({ advertiserId }: { readonly advertiserId: number }) => {
  const { data: agents = [] } = useAgents();
  return (
    <ListTable<SyndicationRecord>
      name="deliveries"
      path={recordsPath(advertiserId)}
      columns={columnsOf(new Map(agents.map(({ id, name }) => [id, name])))}
      rowKey={({ id }) => id}
      filters={[
        {
          name: 'adcpAgentId',
          label: 'Agent',
          choices: [['', 'All'], ...agents.map(({ id, name }) => [id, name] as const)],
        },
        ...boardFilters,
      ]}
      rowsOf={(data) => (data as { readonly items: readonly SyndicationRecord[] }).items}
      empty={<Text>Nothing is sent to an agent yet. Switch it on, on the board.</Text>}
    />
  );
};

export const boardFilters = [
  {
    name: 'resourceType',
    label: 'Kind',
    choices: [
      ['', 'All'],
      ['AUDIENCE', 'Audience'],
      ['EVENT_SOURCE', 'Event source'],
      ['CATALOG', 'Catalog'],
    ],
  },
  {
    name: 'status',
    label: 'State',
    choices: [['', 'All'], ...states.map((state) => [state, state] as const)],
  },
] as const;
