import { Button, Group, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { BUYER, useRead, useWrite } from '../api/query.ts';
import type { Advertiser } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { AreaField, TextField, WriteForm } from '../pieces/form.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { Time } from '../pieces/time.tsx';
import { notifications } from '@mantine/notifications';
import { CampaignTable } from './campaign/campaign-table.tsx';
import { useNewCampaign } from './campaign/new-campaign.tsx';
import { Delivery } from './campaign/delivery.tsx';

const AdvertiserPage = () => {
  const { id = '' } = useParams({ strict: false });
  const path = `${BUYER}/advertisers/${id}`;
  const { data, error } = useRead<Advertiser>(path);
  const isArchived = data?.status === 'ARCHIVED';
  const toggle = useWrite(() =>
    isArchived ? { method: 'POST', path: `${path}/restore`, body: {} } : { method: 'DELETE', path },
  );
  return (
    <ObjectPage
      title={data?.name ?? 'Advertiser'}
      mark={<State of={data?.status} />}
      about={<CopyId id={id} what="advertiser id" />}
      path={path}
      data={data}
      error={error}
      actions={
        data !== undefined && (
          <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
            {isArchived ? 'Restore' : 'Archive'}
          </Button>
        )
      }
      tabs={
        data === undefined
          ? []
          : [
              {
                name: 'overview',
                label: 'Overview',
                content: () => <Overview advertiser={data} error={toggle.error} />,
              },
              {
                name: 'campaigns',
                label: 'Campaigns',
                content: () => <Campaigns advertiserId={data.id} />,
              },
              {
                name: 'delivery',
                label: 'Delivery',
                content: () => <Delivery advertiserId={data.id} />,
              },
              {
                name: 'change',
                label: 'Change',
                content: () => <ChangeAdvertiser advertiser={data} path={path} />,
              },
            ]
      }
    />
  );
};

const Campaigns = ({ advertiserId }: { readonly advertiserId: number }) => {
  const { button, form } = useNewCampaign({ advertiserId });
  return (
    <Stack>
      <Group>{button}</Group>
      <CampaignTable advertiserId={advertiserId} />
      {form}
    </Stack>
  );
};

const Overview = ({ advertiser, error }: { readonly advertiser: Advertiser; readonly error: unknown }) => (
  <>
    <Problem error={error} />
    <Facts
      facts={[
        ['Description', advertiser.description],
        [
          'Currency',
          `${advertiser.primaryCurrency}${advertiser.currencyLocked ? ', locked by its campaigns' : ''}`,
        ],
        ['Brand', advertiser.brandDomain],
        ['Channels', advertiser.channels.length === 0 ? undefined : advertiser.channels.join(', ')],
        ['Time zone', advertiser.preferredTimezone],
        ['Optimizations', advertiser.optimizationApplyMode],
        ['Sandbox', advertiser.sandbox ? 'yes' : 'no'],
        ['Created', <Time key="created" at={advertiser.createdAt} zone={advertiser.preferredTimezone} />],
        ['Changed', <Time key="changed" at={advertiser.updatedAt} zone={advertiser.preferredTimezone} />],
      ]}
    />
  </>
);

const ChangeAdvertiser = ({
  advertiser,
  path,
}: {
  readonly advertiser: Advertiser;
  readonly path: string;
}) => (
  <WriteForm<Advertiser>
    submit="Save"
    requestOf={({ name, description, preferredTimezone }) => ({
      method: 'PUT',
      path,
      body: {
        name,
        description: description === '' ? null : description,
        preferredTimezone: preferredTimezone === '' ? null : preferredTimezone,
      },
    })}
    onDone={() => notifications.show({ message: 'Saved. The history has what changed.' })}
  >
    <TextField name="name" label="Name" required maxLength={200} defaultValue={advertiser.name} />
    <TextField
      name="preferredTimezone"
      label="Time zone"
      placeholder="Europe/Berlin"
      defaultValue={advertiser.preferredTimezone ?? ''}
    />
    <AreaField
      name="description"
      label="Description"
      maxLength={2_000}
      defaultValue={advertiser.description ?? ''}
    />
  </WriteForm>
);

export default AdvertiserPage;
