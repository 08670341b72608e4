import { Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useParams } from '@tanstack/react-router';
import { BUYER, useRead } from '../../api/query.ts';
import type { Advertiser, Campaign } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { CopyId } from '../../pieces/copy-id.tsx';
import { useFormBase } from '../../pieces/form-base.tsx';
import { AreaField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { moneyText } from '../../pieces/money.ts';
import { Facts, ObjectPage } from '../../pieces/object-page.tsx';
import { Time } from '../../pieces/time.tsx';
import { campaignInput, localOf } from './campaign-input.ts';
import { CampaignCreatives } from './campaign-creatives.tsx';
import { CampaignSteps, PhaseLine } from './campaign-steps.tsx';
import { Delivery } from './delivery.tsx';
import { Proposals } from './proposals.tsx';

const CampaignPage = () => {
  const { id = '' } = useParams({ strict: false });
  const path = `${BUYER}/campaigns/${id}`;
  const { data, error } = useRead<Campaign>(path);
  const { data: advertiser } = useRead<Advertiser>(
    `${BUYER}/advertisers/${data?.advertiserId ?? ''}`,
    {},
    { enabled: data !== undefined },
  );
  return (
    <ObjectPage
      title={data?.name ?? 'Campaign'}
      mark={<State of={data?.phase} />}
      about={<CopyId id={id} what="campaign id" />}
      path={path}
      data={data}
      error={error}
      actions={data !== undefined && <CampaignSteps campaign={data} advertiser={advertiser} />}
      tabs={
        data === undefined
          ? []
          : [
              {
                name: 'overview',
                label: 'Overview',
                content: () => <Overview campaign={data} advertiser={advertiser} />,
              },
              { name: 'creatives', label: 'Creatives', content: () => <CampaignCreatives campaign={data} /> },
              { name: 'proposals', label: 'Proposals', content: () => <Proposals campaign={data} /> },
              {
                name: 'delivery',
                label: 'Delivery',
                content: () => <Delivery advertiserId={data.advertiserId} campaignId={data.id} />,
              },
              {
                name: 'change',
                label: 'Change',
                content: () => <ChangeCampaign campaign={data} path={path} />,
              },
            ]
      }
    />
  );
};

interface OverviewProps {
  readonly campaign: Campaign;
  readonly advertiser: Advertiser | undefined;
}

const Overview = ({ campaign, advertiser }: OverviewProps) => {
  const zone = advertiser?.preferredTimezone;
  return (
    <Stack>
      <PhaseLine phase={campaign.phase} />
      <Facts
        facts={[
          [
            'Advertiser',
            <Go key="advertiser" to={`/advertisers/${campaign.advertiserId}`}>
              {advertiser?.name ?? campaign.advertiserId}
            </Go>,
          ],
          ['Budget', moneyText(campaign.budget)],
          ['Starts', <Time key="starts" at={campaign.flight?.startAt} zone={zone} />],
          ['Ends', <Time key="ends" at={campaign.flight?.endAt} zone={zone} />],
          ['Brief', campaign.brief],
          ['Revision', campaign.revision],
          ['Created', <Time key="created" at={campaign.createdAt} zone={zone} />],
          ['Changed', <Time key="changed" at={campaign.updatedAt} zone={zone} />],
        ]}
      />
    </Stack>
  );
};

interface ChangeProps {
  readonly campaign: Campaign;
  readonly path: string;
}

const ChangeCampaign = ({ campaign: present, path }: ChangeProps) => {
  const { base: campaign, formKey, notice, onSaved } = useFormBase(present);
  return (
    <>
      {notice}
      <WriteForm<Campaign>
        key={formKey}
        submit="Save"
        requestOf={(values) => ({
          method: 'PUT',
          path,
          body: { ...campaignInput(values), expectedRevision: campaign.revision },
        })}
        onDone={({ data }) => {
          onSaved(data);
          notifications.show({ message: 'Saved. The history has what changed.' });
        }}
      >
        <TextField name="name" label="Name" required maxLength={255} defaultValue={campaign.name} />
        <TextField
          name="budget.total"
          label="Budget"
          inputMode="decimal"
          defaultValue={campaign.budget?.total ?? ''}
        />
        <TextField
          name="flight.startAt"
          label="Starts, in your time zone"
          type="datetime-local"
          defaultValue={localOf(campaign.flight?.startAt)}
        />
        <TextField
          name="flight.endAt"
          label="Ends, in your time zone"
          type="datetime-local"
          defaultValue={localOf(campaign.flight?.endAt)}
        />
        <AreaField name="brief" label="Brief" maxLength={5_000} defaultValue={campaign.brief ?? ''} />
      </WriteForm>
    </>
  );
};

export default CampaignPage;
