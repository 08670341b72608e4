import { useParams } from '@tanstack/react-router';
import { BUYER, useRead } from '../api/query.ts';
import type { EventSource } from '../api/types.ts';
import { State } from '../pieces/badge.tsx';
import { CopyId } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { Facts, ObjectPage } from '../pieces/object-page.tsx';
import { Time } from '../pieces/time.tsx';
import { useUrlState } from '../pieces/url-state.ts';

/** Advertisers may have event sources of the same id: the address names the advertiser, too. */
const EventSourcePage = () => {
  const { key = '' } = useParams({ strict: false });
  const [{ advertiserId }] = useUrlState();
  const path = `${BUYER}/event-sources/${encodeURIComponent(key)}`;
  const query = { advertiserId };
  const { data, error } = useRead<EventSource>(path, query);
  return (
    <ObjectPage
      title={data?.name ?? 'Event source'}
      mark={<State of={data?.health.status} />}
      about={<CopyId id={key} what="event source id" />}
      path={path}
      query={query}
      data={data}
      error={error}
      tabs={
        data === undefined
          ? []
          : [
              {
                name: 'overview',
                label: 'Overview',
                content: () => <Overview source={data} advertiserId={advertiserId} />,
              },
            ]
      }
    />
  );
};

interface OverviewProps {
  readonly source: EventSource;
  readonly advertiserId: string | undefined;
}

const Overview = ({ source, advertiserId }: OverviewProps) => {
  const { health } = source;
  const of = advertiserId === undefined ? '' : `advertiserId=${advertiserId}`;
  return (
    <Facts
      facts={[
        [
          'Events',
          <Go key="events" to={`/conversions?${of}&source=${encodeURIComponent(source.eventSourceId)}`}>
            By hour
          </Go>,
        ],
        [
          'Agents',
          <Go key="agents" to={`/syndication?${of}&resourceType=EVENT_SOURCE`}>
            On the board
          </Go>,
        ],
        ['Last event', <Time key="last" at={health.lastEventAt ?? undefined} />],
        ['Last received', <Time key="received" at={health.lastEventReceivedAt ?? undefined} />],
        ['Last type', health.lastEventType ?? undefined],
        ['Last problem', health.lastError ?? undefined],
        ['Problem at', <Time key="problem" at={health.lastErrorAt ?? undefined} />],
        ['Accepted types', source.eventTypes.length === 0 ? 'all' : source.eventTypes.join(', ')],
        ['Domains', source.allowedDomains.length === 0 ? 'any' : source.allowedDomains.join(', ')],
        ['Platform', source.integrationPlatform],
        ['Created', <Time key="created" at={source.createdAt} />],
        ['Changed', <Time key="changed" at={source.updatedAt} />],
      ]}
    />
  );
};

export default EventSourcePage;
