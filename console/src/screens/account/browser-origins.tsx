import { Button, Drawer, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { BUYER } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { Page } from '../../pieces/page.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { AdminsOnly } from './admins-only.tsx';

export type BrowserOrigin = Schema<'BrowserOrigin'>;

export const ORIGINS = `${BUYER}/browser-origins`;

export const originsOf = (data: unknown): readonly BrowserOrigin[] =>
  (data as { readonly origins: readonly BrowserOrigin[] }).origins;

export const RemoveOrigin = ({ origin: { id, origin } }: { readonly origin: BrowserOrigin }) => (
  <ConfirmedWrite
    label="Remove"
    of={origin}
    size="compact-sm"
    title={`Remove ${origin}?`}
    call={{ method: 'DELETE', path: `${ORIGINS}/${id}` }}
  >
    Pages of this origin can no longer call the API with credentials of the account.
  </ConfirmedWrite>
);

const columns: readonly Column<BrowserOrigin>[] = [
  {
    title: 'Origin',
    text: ({ origin }) => origin,
    cell: ({ id, origin }) => <Go to={`/browser-origins/${id}`}>{origin}</Go>,
  },
  { title: 'Label', text: ({ label }) => label, wide: true },
  timeColumn('Registered', ({ createdAt }) => createdAt),
  { title: 'Action', text: () => undefined, cell: (origin) => <RemoveOrigin origin={origin} /> },
];

const BrowserOrigins = () => {
  const [isOpen, { open, close }] = useDisclosure();
  const create = <Button onClick={open}>Register an origin</Button>;
  return (
    <Page
      title="Browser origins"
      about="Whose pages may call the API with a key or token of this account."
      actions={create}
    >
      <AdminsOnly what="Browser origins are">
        <ListTable<BrowserOrigin>
          name="origins"
          path={ORIGINS}
          columns={columns}
          rowKey={({ id }) => id}
          rowsOf={originsOf}
          empty={
            <Stack align="flex-start">
              <Text>No page of another origin may call the API. Programs outside of browsers need none.</Text>
              {create}
            </Stack>
          }
        />
      </AdminsOnly>
      <Drawer opened={isOpen} onClose={close} title="Register an origin">
        <WriteForm<BrowserOrigin>
          submit="Register"
          requestOf={({ origin, label = '' }) => ({
            method: 'POST',
            path: ORIGINS,
            body: { origin, ...(label === '' ? {} : { label }) },
          })}
          onDone={close}
        >
          <TextField
            name="origin"
            label="Origin"
            required
            placeholder="https://app.example.com"
            autoComplete="off"
            data-autofocus
          />
          <TextField name="label" label="Label" maxLength={120} />
        </WriteForm>
      </Drawer>
    </Page>
  );
};

export default BrowserOrigins;
