import { Button, Drawer, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { BUYER } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { State } from '../../pieces/badge.tsx';
import { ChoicesField, chosenIn } from '../../pieces/choices.tsx';
import { ConfirmedWrite } from '../../pieces/confirm.tsx';
import { TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { ListTable, type Column } from '../../pieces/list-table.tsx';
import { Page } from '../../pieces/page.tsx';
import { ShownOnce } from '../../pieces/shown-once.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { Time } from '../../pieces/time.tsx';
import { AdminsOnly } from './admins-only.tsx';
import { Scopes, scopeTexts } from './scopes.tsx';

export type ApiKey = Schema<'ApiKey'>;

export const API_KEYS = `${BUYER}/api-keys`;

export const RevokeKey = ({ apiKey: { id, name, status, lastUsedAt } }: { readonly apiKey: ApiKey }) =>
  status !== 'ACTIVE' ? null : (
    <ConfirmedWrite
      label="Revoke"
      of={name}
      size="compact-sm"
      title={`Revoke ${name}?`}
      call={{ method: 'DELETE', path: `${API_KEYS}/${id}` }}
    >
      The program that uses it is refused from its next request on.{' '}
      {lastUsedAt === undefined ? (
        'It has never been used.'
      ) : (
        <>
          It was last used <Time at={lastUsedAt} relative />.
        </>
      )}{' '}
      This cannot be undone: the program then needs a new key.
    </ConfirmedWrite>
  );

const columns: readonly Column<ApiKey>[] = [
  {
    title: 'Name',
    text: ({ name }) => name,
    cell: ({ id, name }) => <Go to={`/api-keys/${id}`}>{name}</Go>,
  },
  {
    title: 'Key',
    text: ({ maskedKey }) => maskedKey,
    cell: ({ maskedKey }) => <code>{maskedKey}</code>,
    wide: true,
  },
  { title: 'Status', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  {
    title: 'Scopes',
    text: ({ scopes }) => scopes.join(' '),
    cell: ({ scopes }) => <Scopes of={scopes} />,
    wide: true,
  },
  timeColumn('Last used', ({ lastUsedAt }) => lastUsedAt),
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
  { title: 'Action', text: () => undefined, cell: (apiKey) => <RevokeKey apiKey={apiKey} /> },
];

const ApiKeys = () => {
  const [isOpen, { open, close }] = useDisclosure();
  const [key, setKey] = useState<string>();
  const create = <Button onClick={open}>New API key</Button>;
  return (
    <Page title="API keys" about="Each program has its own, so that one can be revoked." actions={create}>
      <AdminsOnly what="API keys are">
        <ListTable<ApiKey>
          name="API keys"
          path={API_KEYS}
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <Stack align="flex-start">
              <Text>No program has a key yet.</Text>
              {create}
            </Stack>
          }
        />
      </AdminsOnly>
      <Drawer opened={isOpen} onClose={close} title="New API key">
        <NewKey
          onDone={(made) => {
            close();
            setKey(made);
          }}
        />
      </Drawer>
      <ShownOnce
        title="API key"
        secret={key}
        about={
          <>
            A program sends it as <code>Authorization: Bearer</code>.
          </>
        }
        close={() => setKey(undefined)}
      />
    </Page>
  );
};

const granted = ['exchange:read', 'exchange:write', 'exchange:admin'] as const;

const NewKey = ({ onDone }: { readonly onDone: (key: string) => void }) => (
  <WriteForm<Schema<'NewApiKey'>>
    submit="Create"
    requestOf={({ name, scopes, expiresAt = '' }) => ({
      method: 'POST',
      path: API_KEYS,
      body: {
        name,
        scopes: chosenIn(scopes),
        ...(expiresAt === '' ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      },
    })}
    onDone={({ data }) => onDone(data.key)}
  >
    <TextField
      name="name"
      label="Name"
      required
      maxLength={120}
      data-autofocus
      autoComplete="off"
      description="What uses it, e.g. the nightly import."
    />
    <ChoicesField
      name="scopes"
      label="The program may"
      choices={granted.map((scope) => ({ value: scope, label: scope, description: scopeTexts[scope] }))}
      defaultValue={['exchange:read']}
    />
    <TextField
      name="expiresAt"
      label="Expires, in your time zone"
      description="Empty: never."
      type="datetime-local"
    />
  </WriteForm>
);

export default ApiKeys;
