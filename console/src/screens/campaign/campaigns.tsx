import { Button, Drawer, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { BUYER, useRead } from '../../api/query.ts';
import type { Advertiser, Campaign } from '../../api/types.ts';
import { AreaField, SelectField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { Page } from '../../pieces/page.tsx';
import { CampaignTable } from './campaign-table.tsx';
import { campaignInput } from './campaign-input.ts';

const Campaigns = () => {
  const [isOpen, { open, close }] = useDisclosure();
  const create = <Button onClick={open}>New campaign</Button>;
  return (
    <Page title="Campaigns" about="Drafts, what runs, and what has ended." actions={create}>
      <CampaignTable create={create} />
      <Drawer
        opened={isOpen}
        onClose={close}
        title="New campaign"
        position="right"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <NewCampaign />
      </Drawer>
    </Page>
  );
};

const NewCampaign = () => {
  const navigate = useNavigate();
  const { data: advertisers } = useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, { take: 200 });
  if (advertisers?.length === 0) {
    return (
      <Text>
        A campaign belongs to an advertiser. <Go to="/advertisers">Create one first.</Go>
      </Text>
    );
  }
  return (
    <WriteForm<Campaign>
      submit="Create the draft"
      requestOf={(values) => ({
        method: 'POST',
        path: `${BUYER}/campaigns`,
        body: { advertiserId: Number(values['advertiserId']), ...campaignInput(values) },
      })}
      onDone={({ data }) => void navigate({ to: `/campaigns/${data.id}` })}
    >
      <SelectField
        name="advertiserId"
        label="Advertiser"
        required
        data={(advertisers ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
      />
      <TextField name="name" label="Name" required maxLength={255} data-autofocus autoComplete="off" />
      <TextField
        name="budget.total"
        label="Budget"
        inputMode="decimal"
        description="In the advertiser's currency. A launch needs it."
      />
      <TextField name="flight.startAt" label="Starts" type="datetime-local" />
      <TextField name="flight.endAt" label="Ends" type="datetime-local" />
      <AreaField
        name="brief"
        label="Brief"
        maxLength={5_000}
        description="What the campaign is for. Sellers and creative engines read it."
      />
    </WriteForm>
  );
};

export default Campaigns;
