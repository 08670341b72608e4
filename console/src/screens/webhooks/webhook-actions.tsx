import { Button, Group, Menu, Modal, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { chosenIn } from '../../pieces/choices.tsx';
import { SelectField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { readAgainSoon } from '../../pieces/read-again.ts';
import { ShownOnce } from '../../pieces/shown-once.tsx';
import { localOf } from '../campaign/campaign-input.ts';
import { EventTypesField, useEventTypes } from './event-types.tsx';
import type { Webhook } from './webhook-fields.tsx';

interface ActionProps {
  readonly webhook: Webhook;
  readonly path: string;
  readonly close: () => void;
}

const DAY_MS = 86_400_000;

const isoOf = (local: string | undefined): string | undefined =>
  local === undefined || local === '' ? undefined : new Date(local).toISOString();

const yesterday = (): string => localOf(new Date(Date.now() - DAY_MS).toISOString());

const SendTest = ({ path, close }: ActionProps) => {
  const types = useEventTypes();
  return (
    <WriteForm
      submit="Send"
      requestOf={({ type }) => ({ method: 'POST', path: `${path}/test`, body: { type } })}
      onDone={() => {
        readAgainSoon(path);
        close();
      }}
    >
      <Text size="sm">
        The example of a kind is delivered, also if the filters of the webhook leave it out.
      </Text>
      <SelectField name="type" label="Kind" data={types.map(({ type }) => type)} data-autofocus />
    </WriteForm>
  );
};

const Recover = ({ path, close }: ActionProps) => (
  <WriteForm
    submit="Deliver what failed"
    requestOf={({ since }) => ({ method: 'POST', path: `${path}/recover`, body: { since: isoOf(since) } })}
    onDone={() => {
      notifications.show({ message: 'What failed or was canceled since then is delivered again.' });
      readAgainSoon(path);
      close();
    }}
  >
    <Text size="sm">Everything that failed or was canceled since a time is delivered again.</Text>
    <TextField
      name="since"
      label="Since, in your time zone"
      type="datetime-local"
      required
      data-autofocus
      defaultValue={yesterday()}
    />
  </WriteForm>
);

const Replay = ({ webhook, path, close }: ActionProps) => (
  <WriteForm
    submit="Replay"
    requestOf={({ since, until, eventTypes }) => ({
      method: 'POST',
      path: `${path}/replay`,
      body: { since: isoOf(since), until: isoOf(until), eventTypes: chosenIn(eventTypes) },
    })}
    onDone={() => {
      notifications.show({ message: 'The events of the period are delivered.' });
      readAgainSoon(path);
      close();
    }}
  >
    <Text size="sm">
      All events of a period are delivered, also those that arrived before. Your program knows repeats by
      their webhook-id.
    </Text>
    <TextField
      name="since"
      label="From, in your time zone"
      type="datetime-local"
      required
      data-autofocus
      defaultValue={yesterday()}
    />
    <TextField name="until" label="To (empty: now)" type="datetime-local" />
    <EventTypesField defaultValue={webhook.eventTypes} />
  </WriteForm>
);

interface RotateProps extends ActionProps {
  readonly show: (secret: string | undefined) => void;
}

const Rotate = ({ path, close, show }: RotateProps) => (
  <WriteForm<{ readonly secret?: string; readonly previousSecretUntil: string }>
    submit="Rotate"
    requestOf={({ overlapSeconds }) => ({
      method: 'POST',
      path: `${path}/rotate-secret`,
      body: { overlapSeconds: Number(overlapSeconds) },
    })}
    onDone={({ data }) => {
      close();
      show(data.secret);
    }}
  >
    <Text size="sm">
      Deliveries are signed with the new secret and, until the overlap ends, also with the present one. After
      it, a program that knows only the present one refuses every delivery.
    </Text>
    <SelectField
      name="overlapSeconds"
      label="Overlap"
      data-autofocus
      defaultValue="86400"
      data={[
        { value: '3600', label: 'an hour' },
        { value: '86400', label: 'a day' },
        { value: '604800', label: 'a week' },
        { value: '0', label: 'none: the present secret is useless at once' },
      ]}
    />
  </WriteForm>
);

const Delete = ({ path, close }: ActionProps) => {
  const navigate = useNavigate();
  const write = useWrite(() => ({ method: 'DELETE', path }));
  return (
    <Stack>
      <Text>
        Nothing more is delivered to this address, its secret is deleted, and its deliveries cannot be read
        any more.
      </Text>
      <Problem error={write.error} />
      <Group>
        <Button
          color="red"
          loading={write.isPending}
          onClick={() => write.mutate(undefined, { onSuccess: () => void navigate({ to: '/webhooks' }) })}
        >
          Delete
        </Button>
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
};

const actions = {
  test: 'Send a test event',
  recover: 'Recover what failed',
  replay: 'Replay a period',
  rotate: 'Rotate the secret',
  delete: 'Delete',
} as const;
type Action = keyof typeof actions;

/** All that one may do with a webhook. */
export const WebhookActions = ({ webhook, path }: Pick<ActionProps, 'webhook' | 'path'>) => {
  const [open, setOpen] = useState<Action>();
  const [secret, setSecret] = useState<string>();
  const isActive = webhook.status === 'active';
  const toggle = useWrite<{ readonly subscription: Schema<'WebhookSubscription'> }>(() => ({
    method: 'PUT',
    path,
    body: { status: isActive ? 'inactive' : 'active' },
  }));
  const close = (): void => setOpen(undefined);
  const props = { webhook, path, close };
  const contents: Readonly<Record<Action, () => ReactNode>> = {
    test: () => <SendTest {...props} />,
    recover: () => <Recover {...props} />,
    replay: () => <Replay {...props} />,
    rotate: () => <Rotate {...props} show={setSecret} />,
    delete: () => <Delete {...props} />,
  };
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        <Button onClick={() => setOpen('test')}>{actions.test}</Button>
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
          {isActive ? 'Disable' : 'Enable'}
        </Button>
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default">More</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {(['recover', 'replay', 'rotate', 'delete'] as const).map((action) => (
              <Menu.Item key={action} onClick={() => setOpen(action)}>
                {actions[action]}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Group>
      <Problem error={toggle.error} />
      <Modal opened={open !== undefined} onClose={close} title={open === undefined ? '' : actions[open]}>
        {open !== undefined && contents[open]()}
      </Modal>
      <ShownOnce
        title="New signing secret"
        secret={secret}
        about="Give it to your program before the overlap ends."
        close={() => setSecret(undefined)}
      />
    </Stack>
  );
};
