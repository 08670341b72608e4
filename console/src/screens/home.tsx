import { Group, List, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { BUYER, useAnswer, useRead } from '../api/query.ts';
import type { AuditEntry, AuditLogs } from '../api/types.ts';
import { Go } from '../pieces/go.tsx';
import { Page } from '../pieces/page.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { Time } from '../pieces/time.tsx';
import { useUser } from '../shell/session.tsx';

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

const Home = () => {
  const { name, role } = useUser();
  const isAdmin = role === 'admin';
  return (
    <Page title={`Welcome, ${name}`}>
      {isAdmin && <FirstSteps />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {isAdmin && <NeedsYou />}
        {isAdmin && <Lately />}
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

const isRejection = ({ changes }: AuditEntry): boolean =>
  changes.some(({ after }) => (JSON.stringify(after) ?? '').includes('"rejected"'));

/** What was refused or has failed lately, from the audit log. */
const NeedsYou = () => {
  const { data: failed } = useRead<AuditLogs>(`${BUYER}/audit-logs`, {
    actions: 'SyndicationFailed,CatalogFeedFailed,WebhookSubscriptionDisabled',
    take: 5,
  });
  const { data: reviews } = useRead<AuditLogs>(`${BUYER}/audit-logs`, {
    actions: 'CreativeReviewed',
    take: 50,
  });
  const entries = [...(failed?.logs ?? []), ...(reviews?.logs.filter(isRejection) ?? [])].slice(0, 8);
  return (
    <Paper withBorder p="lg" style={{ minWidth: 0 }}>
      <Title order={2} size="h4" mb="sm">
        Needs you
      </Title>
      {entries.length === 0 && (
        <Text c="dimmed">Nothing has failed, and no seller has rejected a creative.</Text>
      )}
      <Entries entries={entries} />
    </Paper>
  );
};

const Named = ({ entry }: { readonly entry: AuditEntry }) => {
  const to = resourceAddress(entry);
  const name = entry.resourceName ?? entry.resourceId ?? '';
  return to === undefined ? <span>{name}</span> : <Go to={to}>{name}</Go>;
};

const Lately = () => {
  const { data } = useRead<AuditLogs>(`${BUYER}/audit-logs`, { outcome: 'success', take: 10 });
  return (
    <Paper withBorder p="lg" style={{ minWidth: 0 }}>
      <Title order={2} size="h4" mb="sm">
        Lately
      </Title>
      <Entries entries={data?.logs ?? []} />
      <Go to="/audit-log" size="sm">
        Everything, in the audit log
      </Go>
    </Paper>
  );
};

const Entries = ({ entries }: { readonly entries: readonly AuditEntry[] }) => (
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
