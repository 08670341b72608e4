import { Button, Drawer, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Advertiser, EventSource } from '../api/types.ts';
import { AdvertiserChoice } from '../pieces/advertiser-choice.tsx';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { ListTable, type Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { Time } from '../pieces/time.tsx';
import { ConversionHours } from './conversion-hours.tsx';
import { NewEventSource } from './new-event-source.tsx';
import { advertiserPath } from './syndicated.ts';
import { TestEvent } from './test-event.tsx';

const columnsOf = ({ id }: Advertiser): readonly Column<EventSource>[] => [
  {
    title: 'Source',
    text: ({ name }) => name,
    cell: ({ eventSourceId, name }) => (
      <Go to={`/event-sources/${encodeURIComponent(eventSourceId)}?advertiserId=${id}`}>{name}</Go>
    ),
  },
  {
    title: 'Health',
    text: ({ health }) => health.status,
    cell: ({ health }) => <State of={health.status} />,
  },
  {
    title: 'Last event received',
    text: ({ health }) => health.lastEventReceivedAt ?? '',
    cell: ({ health }) => <Time at={health.lastEventReceivedAt ?? undefined} relative />,
  },
  { title: 'Last problem', text: ({ health }) => health.lastError ?? '', wide: true },
  {
    title: 'Id',
    text: ({ eventSourceId }) => eventSourceId,
    cell: ({ eventSourceId }) => <CopyId id={eventSourceId} what="event source id" short />,
    wide: true,
  },
];

const Conversions = () => (
  <Page
    title="Conversions"
    about="What event sources have sent, as it arrives: what counts, and what was rejected."
  >
    <AdvertiserChoice>
      {(advertiser) => <OfAdvertiser key={advertiser.id} advertiser={advertiser} />}
    </AdvertiserChoice>
  </Page>
);

const OfAdvertiser = ({ advertiser }: { readonly advertiser: Advertiser }) => {
  const [isSource, source] = useDisclosure();
  const [isTest, test] = useDisclosure();
  return (
    <Stack>
      <div>
        <Button onClick={test.open} mr="xs" mb="xs">
          Send an event
        </Button>
        <Button onClick={source.open} variant="default" mb="xs">
          New event source
        </Button>
      </div>
      <ConversionHours advertiser={advertiser} />
      <Title order={2} size="h4">
        Event sources
      </Title>
      <ListTable<EventSource>
        name="event sources"
        path={`${advertiserPath(advertiser.id)}/event-sources`}
        columns={columnsOf(advertiser)}
        rowKey={({ eventSourceId }) => eventSourceId}
        rowsOf={(data) => (data as { readonly eventSources: readonly EventSource[] }).eventSources}
        empty={
          <Text>
            There is no event source yet. Create one: a website, an app or a shop that reports what its
            visitors did.
          </Text>
        }
      />
      <Drawer opened={isSource} onClose={source.close} title="New event source">
        <NewEventSource advertiserId={advertiser.id} onDone={source.close} />
      </Drawer>
      <Drawer opened={isTest} onClose={test.close} title="Send an event" size="lg">
        <TestEvent advertiserId={advertiser.id} />
      </Drawer>
    </Stack>
  );
};

export default Conversions;
