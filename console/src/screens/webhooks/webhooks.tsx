import { Button, Drawer, Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useRead } from '../../api/query.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { ExportMenu } from '../../pieces/export-menu.tsx';
import { WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { Rows, type Column } from '../../pieces/list-table.tsx';
import { Page } from '../../pieces/page.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { ShownOnce } from '../../pieces/shown-once.tsx';
import { timeColumn } from '../../pieces/time-column.tsx';
import { WebhookFields, webhookInput, WEBHOOKS, type Webhook } from './webhook-fields.tsx';

const columns: readonly Column<Webhook>[] = [
  {
    title: 'Address',
    text: ({ url }) => url,
    cell: ({ id, url, description }) => (
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        <Go to={`/webhooks/${id}`}>{url}</Go>
        {description !== undefined && (
          <Text size="xs" c="dimmed">
            {description}
          </Text>
        )}
      </Text>
    ),
  },
  { title: 'Status', text: ({ status }) => status, cell: ({ status }) => <State of={status} /> },
  { title: 'Events', text: ({ eventTypes }) => eventTypes.join(' '), wide: true },
  { title: 'Failures', text: ({ failureCount }) => failureCount ?? 0 },
  timeColumn('Last success', ({ lastSuccess }) => lastSuccess),
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="webhook id" short />,
    wide: true,
  },
];

interface Created {
  readonly subscription: Webhook;
  readonly secret?: string;
}

const Webhooks = () => {
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure();
  const [made, setMade] = useState<Created>();
  const { data, error } = useRead<{ readonly subscriptions: readonly Webhook[] }>(WEBHOOKS);
  const create = <Button onClick={open}>New webhook</Button>;
  const finish = (): void => {
    setMade(undefined);
    if (made !== undefined) void navigate({ to: `/webhooks/${made.subscription.id}` });
  };
  return (
    <Page title="Webhooks" about="Where events of the account are sent, as they happen." actions={create}>
      <Problem error={error} />
      {data === undefined && error === null && <Skeleton height={200} />}
      {data?.subscriptions.length === 0 && (
        <Paper withBorder p="lg">
          <Stack align="flex-start">
            <Text>
              No program receives events yet. Enter the address of yours; then send a test event and watch it
              arrive.
            </Text>
            {create}
          </Stack>
        </Paper>
      )}
      {data !== undefined && data.subscriptions.length > 0 && (
        <Stack gap="sm">
          <Group justify="flex-end">
            <ExportMenu
              name="webhooks"
              columns={columns}
              read={() => Promise.resolve(data.subscriptions)}
              isOff={false}
            />
          </Group>
          <Rows name="webhooks" rows={data.subscriptions} columns={columns} rowKey={({ id }) => id} />
        </Stack>
      )}
      <Drawer opened={isOpen} onClose={close} title="New webhook">
        <WriteForm<Created>
          submit="Create"
          requestOf={(values) => ({ method: 'POST', path: WEBHOOKS, body: webhookInput(values, undefined) })}
          onDone={({ data: created }) => {
            close();
            setMade(created);
          }}
        >
          <WebhookFields />
        </WriteForm>
      </Drawer>
      <ShownOnce
        title="Signing secret"
        secret={made?.secret}
        about="Your program checks with it that a request comes from here."
        close={finish}
      />
    </Page>
  );
};

export default Webhooks;
