import { Button, Drawer, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { BUYER, useRead } from '../../api/query.ts';
import type { Advertiser, Campaign } from '../../api/types.ts';
import { AreaField, SelectField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { campaignInput } from './campaign-input.ts';

interface Props {
  /** Chosen at first. */
  readonly advertiserId?: number;
}

/** A button, and the form that it opens. */
export const useNewCampaign = (props: Props = {}) => {
  const [isOpen, { open, close }] = useDisclosure();
  return {
    button: <Button onClick={open}>New campaign</Button>,
    form: (
      <Drawer opened={isOpen} onClose={close} title="New campaign">
        <NewCampaign {...props} />
      </Drawer>
    ),
  };
};

const NewCampaign = ({ advertiserId }: Props) => {
  const navigate = useNavigate();
  const { data: advertisers } = useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, { take: 200 });
  if (advertisers === undefined) return <Skeleton height={200} />;
  if (advertisers.length === 0) {
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
        {...(advertiserId === undefined ? {} : { defaultValue: String(advertiserId) })}
        data={advertisers.map(({ id, name }) => ({ value: String(id), label: name }))}
      />
      <TextField name="name" label="Name" required maxLength={255} data-autofocus autoComplete="off" />
      <TextField
        name="budget.total"
        label="Budget"
        inputMode="decimal"
        description="In the advertiser's currency."
      />
      <TextField
        name="flight.startAt"
        label="Starts, in your time zone"
        type="datetime-local"
        description="With a start, it needs an end. With neither, it runs until you pause it."
      />
      <TextField name="flight.endAt" label="Ends, in your time zone" type="datetime-local" />
      <AreaField
        name="brief"
        label="Brief"
        maxLength={5_000}
        description="What the campaign is for. Sellers and creative engines read it."
      />
    </WriteForm>
  );
};
