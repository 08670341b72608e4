import { Button, Drawer, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/call.ts';
import { BUYER, queryClient } from '../api/query.ts';
import type { Advertiser } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { AreaField, TextField, WriteForm } from '../pieces/form.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { timeColumn } from '../pieces/time-column.tsx';

const columns: readonly Column<Advertiser>[] = [
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, name }) => <Go to={`/advertisers/${id}`}>{name}</Go>,
  },
  { title: 'Id', text: ({ id }) => id, cell: ({ id }) => <CopyId id={id} what="advertiser id" /> },
  { title: 'Status', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  { title: 'Currency', text: ({ primaryCurrency }) => primaryCurrency, wide: true },
  { title: 'Brand', text: ({ brandDomain }) => brandDomain, wide: true },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

const filters = [
  { name: 'name', label: 'Name' },
  {
    name: 'status',
    label: 'Status',
    choices: [
      ['', 'Active'],
      ['ARCHIVED', 'Archived'],
      ['ALL', 'All'],
    ],
  },
] as const;

const path = `${BUYER}/advertisers`;

const again = (): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) });

/** Archives them, and offers to undo it: restoring is a write of its own. */
const archive = async (chosen: readonly Advertiser[]): Promise<void> => {
  const done: Advertiser[] = [];
  try {
    for (const one of chosen) {
      await call({ method: 'DELETE', path: `${path}/${one.id}` });
      done.push(one);
    }
  } catch (error) {
    notifications.show({
      color: 'red',
      title: 'Not all were archived',
      message: error instanceof Error ? error.message : '',
    });
  }
  await again();
  const undo = async (): Promise<void> => {
    for (const { id } of done) await call({ method: 'POST', path: `${path}/${id}/restore`, body: {} });
    await again();
  };
  if (done.length === 0) return;
  const id = notifications.show({
    autoClose: 15_000,
    title: `${done.length} archived`,
    message: (
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => {
          notifications.hide(id);
          void undo();
        }}
      >
        Undo
      </Button>
    ),
  });
};

const Advertisers = () => {
  const [isOpen, { open, close }] = useDisclosure();
  const create = <Button onClick={open}>New advertiser</Button>;
  return (
    <Page
      title="Advertisers"
      about="Whom you buy for: campaigns, creatives and audiences belong to one."
      actions={create}
    >
      <ListTable<Advertiser>
        name="advertisers"
        path={path}
        columns={columns}
        rowKey={({ id }) => id}
        filters={filters}
        bulk={(chosen, clear) => (
          <Button
            size="compact-sm"
            variant="default"
            disabled={chosen.every(({ status }) => status === 'ARCHIVED')}
            onClick={() => {
              clear();
              void archive(chosen.filter(({ status }) => status === 'ACTIVE'));
            }}
          >
            Archive
          </Button>
        )}
        empty={
          <Stack align="flex-start">
            <Text>There is no advertiser yet. Create the first one; a campaign needs it.</Text>
            {create}
          </Stack>
        }
      />
      <Drawer opened={isOpen} onClose={close} title="New advertiser">
        <NewAdvertiser />
      </Drawer>
    </Page>
  );
};

const NewAdvertiser = () => {
  const navigate = useNavigate();
  return (
    <WriteForm<Advertiser>
      submit="Create"
      requestOf={({ name, description, primaryCurrency, brand }) => ({
        method: 'POST',
        path,
        body: {
          name,
          ...(description === '' ? {} : { description }),
          ...(primaryCurrency === '' ? {} : { primaryCurrency }),
          ...(brand === '' ? {} : { brand }),
        },
      })}
      onDone={({ data }) => void navigate({ to: `/advertisers/${data.id}` })}
    >
      <TextField name="name" label="Name" required maxLength={200} data-autofocus autoComplete="off" />
      <TextField
        name="primaryCurrency"
        label="Currency"
        placeholder="USD"
        maxLength={3}
        description="Three letters. It is locked by the first campaign."
      />
      <TextField
        name="brand"
        label="Brand"
        placeholder="acme.com"
        description="Domain of the brand, if it has one."
      />
      <AreaField name="description" label="Description" maxLength={2_000} />
    </WriteForm>
  );
};

export default Advertisers;
