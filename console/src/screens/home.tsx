import { Group, List, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { lazy, Suspense, type ReactNode } from 'react';
import { BUYER, useAnswer, useRead } from '../api/query.ts';
import type { Advertiser, AuditLogs, EventPage } from '../api/types.ts';
import { shortened } from '../pieces/copy-id.tsx';
import { Go } from '../pieces/go.tsx';
import { Page } from '../pieces/page.tsx';
import { resourceAddress, type NamedResource } from '../pieces/resource-address.ts';
import { Time } from '../pieces/time.tsx';
import { reloadOnce } from '../shell/reload-once.ts';
import { useUser } from '../shell/session.tsx';
import { NeedsYou } from './home-needs-you.tsx';

/** Each is done when the log has one such event: nothing is ticked off by hand. */
const steps = [
  ['Create an advertiser', '/advertisers', 'AdvertiserCreated'],
  ['Put a file into its library', '/library', 'AssetUploaded'],
  ['Draft a campaign', '/campaigns', 'CampaignCreated'],
  ['Give it a creative', '/campaigns', 'CreativeCreated'],
  ['Launch the campaign', '/campaigns', 'CampaignLaunched'],
  ['Send an audience to an agent', '/syndication', 'SyndicationToggled'],
  ['Receive a conversion event', '/conversions', 'ConversionsLogged'],
] as const;

/** Each of them is several requests. */
const ADVERTISERS_MAX = 3;

const Conversions = lazy(() => import('./home-conversions.tsx').catch(reloadOnce));

const Home = () => {
  const { name, role } = useUser();
  const { data: advertisers } = useRead<readonly Advertiser[]>(`${BUYER}/advertisers`, {
    take: ADVERTISERS_MAX,
  });
  return (
    <Page title={`Welcome, ${name}`}>
      {role === 'admin' && <FirstSteps />}
      {advertisers !== undefined && advertisers.length > 0 && (
        <Suspense>
          <Conversions advertisers={advertisers} />
        </Suspense>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <NeedsYou advertisers={advertisers} />
        {role === 'admin' ? <LatelyByAll /> : <Lately />}
      </SimpleGrid>
    </Page>
  );
};

const useIsDone = (action: string): boolean => {
  const [known, keep] = useLocalStorage({
    key: `exchange-first-${action}-${useUser().id}`,
    defaultValue: false,
  });
  const { data } = useAnswer<AuditLogs>(
    `${BUYER}/audit-logs`,
    { actions: action, take: 1 },
    { enabled: !known },
  );
  const isDone = known || (data?.data.total ?? 0) > 0;
  if (isDone && !known) queueMicrotask(() => keep(true));
  return isDone;
};

const FirstSteps = () => {
  const done = steps.map(([, , action]) => useIsDone(action));
  const count = done.filter(Boolean).length;
  if (count === steps.length) return null;
  return (
    <Paper withBorder p="lg" style={{ minWidth: 0 }}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          First steps
        </Title>
        <Progress
          value={(count / steps.length) * 100}
          aria-label={`${count} of ${steps.length} steps done`}
        />
        <List spacing={4} listStyleType="none" aria-label="First steps">
          {steps.map(([label, to], index) => (
            <List.Item key={label}>
              <Group gap="xs">
                <span aria-hidden="true">{done[index] === true ? '✓' : '○'}</span>
                <Go to={to}>{label}</Go>
                {done[index] === true && (
                  <Text span c="dimmed" size="sm">
                    done
                  </Text>
                )}
              </Group>
            </List.Item>
          ))}
        </List>
      </Stack>
    </Paper>
  );
};

interface Entry extends NamedResource {
  readonly id: string;
  readonly action: string;
  readonly timestamp: string;
  readonly resourceName?: string;
}

const Named = ({ entry }: { readonly entry: Entry }) => {
  const to = resourceAddress(entry);
  const name = entry.resourceName ?? shortened(entry.resourceId ?? '');
  return to === undefined ? <span>{name}</span> : <Go to={to}>{name}</Go>;
};

const LATELY = 10;

interface LatelyPanelProps {
  readonly children: ReactNode;
  readonly isEmpty: boolean;
  readonly more: ReactNode;
}

const LatelyPanel = ({ children, isEmpty, more }: LatelyPanelProps) => (
  <Paper withBorder p="lg" style={{ minWidth: 0 }}>
    <Title order={2} size="h4" mb="sm">
      Lately
    </Title>
    {isEmpty ? <Text c="dimmed">Nothing has happened yet.</Text> : children}
    {more}
  </Paper>
);

/** The audit log is for admins. */
const LatelyByAll = () => {
  const { data } = useRead<AuditLogs>(`${BUYER}/audit-logs`, { outcome: 'success', take: LATELY });
  return (
    <LatelyPanel
      isEmpty={data?.logs.length === 0}
      more={
        <Go to="/audit-log" size="sm">
          Everything, in the audit log
        </Go>
      }
    >
      <Entries entries={data?.logs ?? []} />
    </LatelyPanel>
  );
};

const Lately = () => {
  const { data } = useRead<EventPage>(`${BUYER}/events`, { newest: true, take: LATELY });
  const entries = data?.events.toReversed().map(({ id, type, timestamp, data: resource }) => ({
    id,
    action: type,
    timestamp,
    ...resource,
  }));
  return (
    <LatelyPanel
      isEmpty={entries?.length === 0}
      more={
        <Go to="/events" size="sm">
          Everything, as it happens
        </Go>
      }
    >
      <Entries entries={entries ?? []} />
    </LatelyPanel>
  );
};

const Entries = ({ entries }: { readonly entries: readonly Entry[] }) => (
  <List listStyleType="none" spacing={4}>
    {entries.map((entry) => (
      <List.Item key={entry.id}>
        <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
          {entry.action} <Named entry={entry} />{' '}
          <Text span c="dimmed" size="sm">
            <Time at={entry.timestamp} relative />
          </Text>
        </Text>
      </List.Item>
    ))}
  </List>
);

export default Home;
