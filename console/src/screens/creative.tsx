import { Button, Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate, useParams } from '@tanstack/react-router';
import { BUYER, useRead, useWrite } from '../api/query.ts';
import type { Creative, CreativeDetail, Seller } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { Time } from '../pieces/time.tsx';
import classes from './campaign.module.css';
import { ChangeCreative } from './change-creative.tsx';

const CreativePage = () => {
  const { cid = '' } = useParams({ strict: false });
  const path = `${BUYER}/creatives/${cid}/detail`;
  const { data, error } = useRead<CreativeDetail>(path);
  return (
    <ObjectPage
      title={data?.name ?? 'Creative'}
      mark={<State of={data?.state} />}
      about={<CopyId id={cid} what="creative id" />}
      path={path}
      historyPath={`${BUYER}/creatives/${cid}`}
      data={data}
      error={error}
      actions={data !== undefined && <Duplicate creative={data} />}
      tabs={
        data === undefined
          ? []
          : [
              { name: 'overview', label: 'Overview', content: () => <Overview creative={data} /> },
              { name: 'sellers', label: 'Sellers', content: () => <Sellers creative={data} /> },
              {
                name: 'change',
                label: 'Change',
                content: () => <ChangeCreative creativeId={cid} campaignId={data.campaigns[0]?.campaignId} />,
              },
            ]
      }
    />
  );
};

const Duplicate = ({ creative }: { readonly creative: CreativeDetail }) => {
  const navigate = useNavigate();
  const [campaign] = creative.campaigns;
  const copy = useWrite<Creative>(() => ({
    method: 'POST',
    path: `${BUYER}/campaigns/${campaign?.campaignId ?? ''}/creatives/${creative.creativeId}/duplicate`,
    body: {},
  }));
  if (campaign === undefined) return null;
  const duplicate = async (): Promise<void> => {
    const { data } = await copy.mutateAsync();
    await navigate({ to: `/creatives/${data.id}` });
  };
  return (
    <Stack gap="xs" align="flex-end">
      <Button
        variant="default"
        loading={copy.isPending}
        onClick={() => void duplicate().catch(() => undefined)}
      >
        Duplicate
      </Button>
      <Problem error={copy.error} />
    </Stack>
  );
};

const Preview = ({ preview }: { readonly preview: NonNullable<CreativeDetail['preview']> }) => (
  <Paper withBorder p="md">
    <Stack gap="xs">
      {preview.kind === 'image' && (
        <img className={classes.preview ?? ''} src={preview.url} alt="The creative" />
      )}
      {preview.kind !== 'image' && (
        <a href={preview.url} target="_blank" rel="noreferrer noopener">
          Open the {preview.kind === 'link' ? 'address' : preview.kind}
        </a>
      )}
      {preview.copy.map(({ slot, value }) => (
        <Text key={slot} size="sm">
          <b>{slot}</b>: {value}
        </Text>
      ))}
    </Stack>
  </Paper>
);

const Overview = ({ creative }: { readonly creative: CreativeDetail }) => (
  <Stack>
    {creative.preview !== undefined && <Preview preview={creative.preview} />}
    <Facts
      facts={[
        ['Format', creative.formatLabel],
        ['File', creative.specLine === '' ? undefined : creative.specLine],
        ['Click leads to', creative.clickUrl],
        [
          'Campaigns',
          <Group key="campaigns" gap="xs">
            {creative.campaigns.length === 0
              ? 'none: it is in the library only'
              : creative.campaigns.map(({ campaignId, name }) => (
                  <Go key={campaignId} to={`/campaigns/${campaignId}`}>
                    {name}
                  </Go>
                ))}
          </Group>,
        ],
        ['Revision', creative.revision],
        ['Changed', <Time key="changed" at={creative.updatedAt} />],
      ]}
    />
    <Title order={2} size="h4">
      Slots
    </Title>
    {creative.assets.length === 0 && <Text c="dimmed">No slot has an asset.</Text>}
    {creative.assets.map(({ slot, assetId, name, mediaKind, thumbnailUrl }) => (
      <Group key={slot} gap="sm">
        {thumbnailUrl !== undefined && <img className={classes.thumb ?? ''} src={thumbnailUrl} alt="" />}
        <Text size="sm">
          <b>{slot}</b>: {name} ({mediaKind})
        </Text>
        <CopyId id={assetId} what="asset id" short />
      </Group>
    ))}
  </Stack>
);

const Sellers = ({ creative }: { readonly creative: CreativeDetail }) => {
  const { data: sellers = [] } = useRead<readonly Seller[]>(`${BUYER}/sellers`, { take: 50 });
  const submit = useWrite<unknown, number>((sellerId) => ({
    method: 'POST',
    path: `${BUYER}/creatives/${creative.creativeId}/submit`,
    body: { sellerIds: [sellerId] },
  }));
  return (
    <Stack>
      <Problem error={submit.error} />
      <Table.ScrollContainer minWidth={0} type="native">
        <Table aria-label="Sellers">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Seller</Table.Th>
              <Table.Th>Review</Table.Th>
              <Table.Th>Since</Table.Th>
              <Table.Th>Action</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sellers.map(({ sellerId, name }) => {
              const found = creative.sellerStatuses.find(({ seller }) => seller.sellerId === sellerId);
              return (
                <Table.Tr key={sellerId}>
                  <Table.Td>{name}</Table.Td>
                  <Table.Td>
                    <State of={found?.status ?? 'not submitted'} />
                    {found?.rejectionReason !== undefined && <Text size="sm">{found.rejectionReason}</Text>}
                  </Table.Td>
                  <Table.Td>
                    <Time at={found?.syncedAt} relative />
                  </Table.Td>
                  <Table.Td>
                    <Button
                      size="compact-xs"
                      variant="default"
                      disabled={creative.state !== 'ready' || submit.isPending}
                      aria-label={`Submit to ${name}`}
                      onClick={() =>
                        submit.mutate(sellerId, {
                          onSuccess: () => notifications.show({ message: `Submitted to ${name}.` }),
                        })
                      }
                    >
                      Submit
                    </Button>
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {creative.state !== 'ready' && (
        <Text>
          It is a draft, so it cannot be submitted yet. Give it what its format needs:{' '}
          <Go to="." search={{ tab: 'change' }}>
            Change it
          </Go>
        </Text>
      )}
    </Stack>
  );
};

export default CreativePage;
