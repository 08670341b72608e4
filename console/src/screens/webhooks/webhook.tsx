import { Alert, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useParams } from '@tanstack/react-router';
import { useRead } from '../../api/query.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { Facts, ObjectPage } from '../../pieces/object-page.tsx';
import { Time } from '../../pieces/time.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookActions } from './webhook-actions.tsx';
import { WebhookFields, webhookInput, WEBHOOKS, type Webhook } from './webhook-fields.tsx';

const WebhookPage = () => {
  const { id = '' } = useParams({ strict: false });
  const path = `${WEBHOOKS}/${id}`;
  const { data, error } = useRead<{ readonly subscription: Webhook }>(path);
  const webhook = data?.subscription;
  return (
    <ObjectPage
      title={webhook?.url ?? 'Webhook'}
      mark={<State of={webhook?.status} />}
      about={<CopyId id={id} what="webhook id" />}
      path={path}
      data={data}
      error={error}
      actions={webhook !== undefined && <WebhookActions webhook={webhook} path={path} />}
      tabs={
        webhook === undefined
          ? []
          : [
              {
                name: 'deliveries',
                label: 'Deliveries',
                content: () => (
                  <Stack>
                    <Health webhook={webhook} />
                    <Deliveries path={path} />
                  </Stack>
                ),
              },
              { name: 'overview', label: 'Overview', content: () => <Overview webhook={webhook} /> },
              {
                name: 'change',
                label: 'Change',
                content: () => <ChangeWebhook webhook={webhook} path={path} />,
              },
            ]
      }
    />
  );
};

const Health = ({ webhook: { status, statusMessage } }: { readonly webhook: Webhook }) =>
  statusMessage === undefined ? null : (
    <Alert color={status === 'failed' ? 'red' : 'yellow'} variant="light" title={status}>
      {statusMessage}
    </Alert>
  );

const Overview = ({ webhook }: { readonly webhook: Webhook }) => (
  <Facts
    facts={[
      ['Address', webhook.url],
      ['Description', webhook.description],
      ['Kinds of events', webhook.eventTypes.join(', ')],
      [
        'Advertisers',
        webhook.advertiserIds === undefined
          ? 'all'
          : webhook.advertiserIds.map((id) => (
              <Go key={id} to={`/advertisers/${id}`} mr="xs">
                {id}
              </Go>
            )),
      ],
      ['Body', webhook.payload],
      ['Authentication', webhook.authentication],
      ['Failed attempts since the last success', webhook.failureCount ?? 0],
      ['Last success', <Time key="success" at={webhook.lastSuccess} />],
      ['Last failure', <Time key="failure" at={webhook.lastFailure} />],
      webhook.previousSecretUntil !== undefined && [
        'Also signed with the old secret until',
        <Time key="until" at={webhook.previousSecretUntil} />,
      ],
      ['Created', <Time key="created" at={webhook.createdAt} />],
      ['Changed', <Time key="changed" at={webhook.updatedAt} />],
    ]}
  />
);

interface ChangeProps {
  readonly webhook: Webhook;
  readonly path: string;
}

const ChangeWebhook = ({ webhook, path }: ChangeProps) => (
  <WriteForm
    key={webhook.updatedAt}
    submit="Save"
    requestOf={(values) => ({ method: 'PUT', path, body: webhookInput(values, null) })}
    onDone={() => notifications.show({ message: 'Saved. The history has what changed.' })}
  >
    <WebhookFields webhook={webhook} />
  </WriteForm>
);

export default WebhookPage;
