import { Alert, Button, Group, Paper, SegmentedControl, Skeleton, Slider, Stack, Text } from '@mantine/core';
import type { Query } from '../api/call.ts';
import { useRead } from '../api/query.ts';
import type { HistoryEvent, HistoryPage } from '../api/types.ts';
import { Causes } from './causes.tsx';
import { AsItWas, Compared, Explained } from './past.tsx';
import { Changes, Who } from './changes.tsx';
import { CopyId } from './copy-id.tsx';
import { Problem } from './problem.tsx';
import classes from './pieces.module.css';
import { Time } from './time.tsx';
import { useUrlState } from './url-state.ts';
import { useUser } from '../shell/session.tsx';

export interface HistoryPlace {
  /** `history`, `diff` and `explain` are below it. */
  readonly path: string;
  /** Needed to find the object, e.g. `advertiserId` of event sources. */
  readonly query?: Query;
  /** What reads it with `?asOf=`. */
  readonly statePath?: string;
}

const TAKE = 200;

const views = [
  ['changes', 'What changed'],
  ['compare', 'Compare'],
  ['state', 'As it was'],
  ['explain', 'Explain values'],
  ['causes', 'What followed'],
] as const;

/** Everything that has happened to an object: its revisions on a line, and five ways to look at one of them. */
export const History = (place: HistoryPlace) => {
  const [url, change] = useUrlState();
  const after = url['after'];
  const goAfter = (revision: number | undefined): void =>
    change({ after: revision === undefined ? undefined : String(revision), revision: undefined });
  const { data, error, isPending } = useRead<HistoryPage>(`${place.path}/history`, {
    ...place.query,
    take: TAKE,
    afterRevision: after,
  });
  if (isPending && error === null) return <Skeleton height={160} />;
  if (data === undefined) return <Problem error={error} />;
  if (data.events.length === 0) return <Text>Nothing has happened to it yet.</Text>;
  return (
    <Stack>
      <Problem error={error} />
      <Line place={place} events={data.events} hasLater={data.nextAfterRevision !== undefined} />
      <Group>
        {after !== undefined && (
          <Button variant="default" size="xs" onClick={() => goAfter(undefined)}>
            First revisions
          </Button>
        )}
        {data.nextAfterRevision !== undefined && (
          <Button variant="default" size="xs" onClick={() => goAfter(data.nextAfterRevision)}>
            Later revisions
          </Button>
        )}
      </Group>
    </Stack>
  );
};

interface LineProps {
  readonly place: HistoryPlace;
  readonly events: readonly HistoryEvent[];
  /** Later revisions are on the next page. */
  readonly hasLater: boolean;
}

const Line = ({ place, events, hasLater }: LineProps) => {
  const [url, change] = useUrlState();
  const { role } = useUser();
  const last = events.length - 1;
  const chosen = events.findIndex(({ revision }) => String(revision) === url['revision']);
  const at = chosen === -1 ? last : chosen;
  const event = events[at];
  const shown = views.filter(
    ([name]) =>
      (name !== 'state' || place.statePath !== undefined) && (name !== 'causes' || role === 'admin'),
  );
  const view = shown.find(([name]) => name === url['view'])?.[0] ?? 'changes';
  if (event === undefined) return null;
  return (
    <Stack>
      {last > 0 && (
        <div className={classes.timeline ?? ''}>
          <Slider
            thumbLabel="Revision"
            min={0}
            max={last}
            value={at}
            label={(index) => `Revision ${events[index]?.revision ?? ''}`}
            thumbProps={{ 'aria-valuetext': `Revision ${event.revision}, ${event.type}` }}
            marks={marksOf(events)}
            onChange={(index) =>
              change(
                { revision: index === last ? undefined : String(events[index]?.revision) },
                { replace: true },
              )
            }
          />
        </div>
      )}
      <EventCard event={event} isLast={at === last && !hasLater} />
      <SegmentedControl
        aria-label="View"
        value={view}
        onChange={(next) => change({ view: next === 'changes' ? undefined : next })}
        data={shown.map(([value, label]) => ({ value, label }))}
        fullWidth
        withItemsBorders={false}
        style={{ overflowX: 'auto' }}
      />
      {view === 'changes' && <Changes changes={event.changes} />}
      {view === 'compare' && <Compared place={place} events={events} to={event.revision} />}
      {view === 'state' && place.statePath !== undefined && (
        <AsItWas place={place} statePath={place.statePath} revision={event.revision} />
      )}
      {view === 'explain' && <Explained place={place} revision={event.revision} />}
      {view === 'causes' && <Causes requestId={event.correlationId} />}
    </Stack>
  );
};

/** Labels only where they have room. */
const LABELS_MAX = 8;

const marksOf = (events: readonly HistoryEvent[]) => {
  const step = Math.ceil(events.length / LABELS_MAX);
  return events.map(({ revision }, value) => ({
    value,
    ...(value % step === 0 || value === events.length - 1 ? { label: String(revision) } : {}),
  }));
};

const EventCard = ({ event, isLast }: { readonly event: HistoryEvent; readonly isLast: boolean }) => (
  <Paper withBorder p="md">
    <Stack gap={4}>
      <Group justify="space-between">
        <Text fw={600}>{event.type}</Text>
        <Text size="sm" c="dimmed">
          revision {event.revision}
          {isLast ? ', the present one' : ''}
        </Text>
      </Group>
      <Text size="sm" component="div">
        <Time at={event.timestamp} /> · <Who of={event} />
      </Text>
      <Text size="sm" component="div">
        Request <CopyId id={event.requestId} what="request id" short />
      </Text>
      {event.correlationId !== event.requestId && (
        <Alert variant="light" p="xs">
          Done by the service, because of request <CopyId id={event.correlationId} what="request id" short />
        </Alert>
      )}
    </Stack>
  </Paper>
);
