import { Button, Drawer, Group, Paper, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { BUYER, useRead } from '../../api/query.ts';
import type { Asset, Campaign, Creative, CreativeDetail, Seller } from '../../api/types.ts';
import { State } from '../../pieces/badge.tsx';
import { AreaField, SelectField, TextField, WriteForm } from '../../pieces/form.tsx';
import { Go } from '../../pieces/go.tsx';
import { Problem } from '../../pieces/problem.tsx';
import { formatKinds } from '../format-kinds.ts';

/** Each row reads one creative: more would use up the requests of a minute. */
const ROWS_MAX = 20;

/** What each seller says of each creative. Events of a creative read only its row again. */
export const CampaignCreatives = ({ campaign }: { readonly campaign: Campaign }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const { data: creatives, error } = useRead<readonly Creative[]>(
    `${BUYER}/campaigns/${campaign.id}/creatives`,
    {
      take: 100,
    },
  );
  const { data: sellers = [] } = useRead<readonly Seller[]>(`${BUYER}/sellers`, { take: 50 });
  return (
    <Stack>
      <Group>
        <Button onClick={open}>New creative</Button>
      </Group>
      <Problem error={error} />
      {creatives === undefined && error === null && <Skeleton height={120} />}
      {creatives?.length === 0 && (
        <Paper withBorder p="lg">
          <Text>The campaign has no creative yet. Sellers review each one after the launch.</Text>
        </Paper>
      )}
      {creatives !== undefined && creatives.length > 0 && (
        <Table.ScrollContainer minWidth={0} type="native">
          <Table aria-label="Creatives and sellers">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Creative</Table.Th>
                <Table.Th>State</Table.Th>
                {sellers.map(({ sellerId, name }) => (
                  <Table.Th key={sellerId}>{name}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {creatives.slice(0, ROWS_MAX).map((creative) => (
                <Row key={creative.id} creative={creative} sellers={sellers} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {(creatives?.length ?? 0) > ROWS_MAX && (
        <Text c="dimmed">
          The newest {ROWS_MAX}.{' '}
          <Go to={`/creatives?advertiserId=${campaign.advertiserId}`}>All creatives</Go>
        </Text>
      )}
      <Drawer opened={isOpen} onClose={close} title="New creative">
        <NewCreative campaign={campaign} />
      </Drawer>
    </Stack>
  );
};

interface RowProps {
  readonly creative: Creative;
  readonly sellers: readonly Seller[];
}

const Row = ({ creative, sellers }: RowProps) => {
  const { data } = useRead<CreativeDetail>(`${BUYER}/creatives/${creative.id}/detail`);
  return (
    <Table.Tr>
      <Table.Td>
        <Go to={`/creatives/${creative.id}`}>{creative.name}</Go>
      </Table.Td>
      <Table.Td>
        <State of={creative.state} />
      </Table.Td>
      {sellers.map(({ sellerId }) => {
        const found = data?.sellerStatuses.find(({ seller }) => seller.sellerId === sellerId);
        return (
          <Table.Td key={sellerId}>
            {found === undefined ? (
              <Text span c="dimmed">
                –
              </Text>
            ) : (
              <Stack gap={2} align="flex-start">
                <State of={found.status} />
                {found.rejectionReason !== undefined && <Text size="xs">{found.rejectionReason}</Text>}
              </Stack>
            )}
          </Table.Td>
        );
      })}
    </Table.Tr>
  );
};

const NewCreative = ({ campaign }: { readonly campaign: Campaign }) => {
  const navigate = useNavigate();
  const { data: assets = [] } = useRead<readonly Asset[]>(
    `${BUYER}/advertisers/${campaign.advertiserId}/assets`,
    {
      take: 200,
    },
  );
  return (
    <WriteForm<Creative>
      submit="Create"
      requestOf={({ name, formatKind, assetId = '', headline = '', clickUrl = '', message = '' }) => ({
        method: 'POST',
        path: `${BUYER}/campaigns/${campaign.id}/creatives/create`,
        body: {
          formatKind,
          ...(name === '' ? {} : { name }),
          ...(assetId === '' ? {} : { slots: [{ slotId: 'main', kind: 'asset', assetId }] }),
          ...(headline === '' ? {} : { copy: { headline } }),
          ...(clickUrl === '' ? {} : { clickUrl }),
          ...(message === '' ? {} : { message }),
        },
      })}
      onDone={({ data }) => void navigate({ to: `/creatives/${data.id}` })}
    >
      <TextField name="name" label="Name" maxLength={255} data-autofocus autoComplete="off" />
      <SelectField
        name="formatKind"
        label="Format"
        data={formatKinds.map(([value, label]) => ({ value, label }))}
      />
      <SelectField
        name="assetId"
        label="Asset"
        description="From the library of the advertiser."
        data={[
          { value: '', label: 'none yet' },
          ...assets.map(({ id, name }) => ({ value: id, label: name })),
        ]}
      />
      <TextField name="headline" label="Headline" maxLength={2_000} />
      <TextField
        name="clickUrl"
        label="Address behind a click"
        type="url"
        placeholder="https://acme.example"
      />
      <AreaField name="message" label="Message" maxLength={5_000} />
    </WriteForm>
  );
};
