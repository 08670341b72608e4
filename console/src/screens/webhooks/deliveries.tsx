import { Button, Drawer, Group, Paper, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { BUYER, useAnswer, useWrite } from '../../api/query.ts';
import type { Schema } from '../../api/schema.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { CursorTable } from '../../pieces/cursor-table.tsx';
import { JsonAndCurl } from '../../pieces/json.tsx';
import type { Column } from '../../pieces/list-table.tsx';
import { Facts } from '../../pieces/object-page.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { readAgainSoon, useReadAgainAfterEvents, useReadAgainAt } from '../../pieces/read-again.ts';
import { timeColumn } from '../../pieces/time-column.tsx';
import { Time } from '../../pieces/time.tsx';
import { useUrlState } from '../../pieces/url-state.ts';
import classes from '../../pieces/pieces.module.css';
import { useEventTypes } from './event-types.tsx';

type Delivery = Schema<'WebhookDelivery'>;
type Attempt = Schema<'WebhookAttempt'>;

interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor?: string;
}

const resultOf = ({ responseStatus, error }: Pick<Delivery, 'responseStatus' | 'error'>): string =>
  [responseStatus, error].filter((part) => part !== undefined).join(', ');

const OpenButton = ({ delivery }: { readonly delivery: Delivery }) => {
  const [, change] = useUrlState();
  return (
    <UnstyledButton
      className={classes.open ?? ''}
      aria-haspopup="dialog"
      onClick={() => change({ delivery: delivery.id })}
    >
      {delivery.type}
    </UnstyledButton>
  );
};

const columns: readonly Column<Delivery>[] = [
  { title: 'Event', text: ({ type }) => type, cell: (delivery) => <OpenButton delivery={delivery} /> },
  { title: 'State', text: ({ state }) => state, cell: ({ state }) => <State of={state} /> },
  { title: 'Answer', text: resultOf },
  { title: 'Attempts', text: ({ attemptCount }) => attemptCount, wide: true },
  timeColumn('Created', ({ createdAt }) => createdAt, { wide: false }),
  timeColumn('Next attempt', ({ nextAttemptAt }) => nextAttemptAt),
  {
    title: 'Id',
    text: ({ id }) => id,
    cell: ({ id }) => <CopyId id={id} what="delivery id" short />,
    wide: true,
  },
];

const states = ['due', 'delivered', 'failed', 'canceled'] as const;

/** What was sent and what came back, newest first. Attempts are no events: their time is in the answer. */
export const Deliveries = ({ path }: { readonly path: string }) => {
  const types = useEventTypes();
  const filters = [
    {
      name: 'state',
      label: 'State',
      choices: [['', 'All'], ...states.map((state) => [state, state] as const)],
    },
    {
      name: 'type',
      label: 'Event',
      choices: [['', 'All'], ...types.map(({ type }) => [type, type] as const)],
    },
    { name: 'since', label: 'Since', example: '2027-01-31T12:00:00Z' },
  ] as const;
  const list = `${path}/deliveries`;
  useReadAgainAfterEvents(list);
  return (
    <>
      <CursorTable<Delivery>
        name="deliveries"
        path={list}
        columns={columns}
        rowKey={({ id }) => id}
        filters={filters}
        pageOf={(data) => {
          const { deliveries, nextCursor } = data as DeliveryPage;
          return { rows: deliveries, next: nextCursor };
        }}
        empty={
          <Text>Nothing was sent yet. Send a test event, or change something that it subscribes to.</Text>
        }
        about={(rows, _, readAtMs) => <WhenDue path={list} rows={rows} readAtMs={readAtMs} />}
      />
      <OneDelivery path={list} />
    </>
  );
};

interface WhenDueProps {
  readonly path: string;
  readonly rows: readonly Delivery[];
  readonly readAtMs: number;
}

const WhenDue = ({ path, rows, readAtMs }: WhenDueProps) => {
  const [next] = rows.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).sort();
  useReadAgainAt(path, next, readAtMs);
  return null;
};

/** The delivery that the address names. */
const OneDelivery = ({ path }: { readonly path: string }) => {
  const [url, change] = useUrlState();
  const id = url['delivery'];
  return (
    <Drawer
      opened={id !== undefined}
      onClose={() => change({ delivery: undefined })}
      title="Delivery"
      size="lg"
    >
      {id !== undefined && <DeliveryDetail path={`${path}/${encodeURIComponent(id)}`} />}
    </Drawer>
  );
};

const DeliveryDetail = ({ path }: { readonly path: string }) => {
  const {
    data: answer,
    error,
    dataUpdatedAt,
  } = useAnswer<{
    readonly delivery: Delivery;
    readonly attempts: readonly Attempt[];
  }>(path);
  useReadAgainAt(path, answer?.data.delivery.nextAttemptAt, dataUpdatedAt);
  const again = useWrite(
    () => ({ method: 'POST', path: `${path}/redeliver`, body: {} }),
    [`${BUYER}/webhook-subscriptions`],
  );
  if (error !== null) return <Problem error={error} />;
  if (answer === undefined) return <Skeleton height={200} />;
  const { delivery, attempts } = answer.data;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600}>{delivery.type}</Text>
          <State of={delivery.state} />
        </Group>
        <Button
          size="xs"
          loading={again.isPending}
          onClick={() =>
            again.mutate(undefined, { onSuccess: () => readAgainSoon(path.replace(/\/[^/]*$/, '')) })
          }
        >
          Deliver again
        </Button>
      </Group>
      <Problem error={again.error} />
      <Facts
        facts={[
          ['Delivery', <CopyId key="id" id={delivery.id} what="delivery id" />],
          ['webhook-id', <CopyId key="message" id={delivery.messageId} what="message id" />],
          ['Created', <Time key="created" at={delivery.createdAt} />],
          ['Next attempt', <Time key="next" at={delivery.nextAttemptAt} />],
        ]}
      />
      <Text fw={600}>Attempts</Text>
      {attempts.length === 0 && <Text c="dimmed">None yet.</Text>}
      {attempts.map((attempt) => (
        <AttemptCard key={attempt.attempt} attempt={attempt} />
      ))}
      <JsonAndCurl data={answer.data} path={path} />
    </Stack>
  );
};

/** The head of the answer was written by the endpoint: it is only text. */
const AttemptCard = ({ attempt }: { readonly attempt: Attempt }) => (
  <Paper withBorder p="sm" role="group" aria-label={`Attempt ${attempt.attempt}`}>
    <Group justify="space-between">
      <Text size="sm">
        {attempt.attempt}. <b>{resultOf(attempt)}</b> after {attempt.durationMs} ms
      </Text>
      <Text size="sm" c="dimmed">
        <Time at={attempt.startedAt} />
      </Text>
    </Group>
    {attempt.responseHead !== undefined && attempt.responseHead !== '' && (
      <pre className={classes.json ?? ''} tabIndex={0} aria-label={`Answer to attempt ${attempt.attempt}`}>
        {attempt.responseHead}
      </pre>
    )}
  </Paper>
);
