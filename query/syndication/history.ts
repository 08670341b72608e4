import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { audienceFold } from '../../domain/audiences/audience.ts';
import { catalogFold } from '../../domain/catalogs/catalog.ts';
import { eventSourceFold } from '../../domain/event-sources/event-source.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { shownAgentId } from '../../domain/agents/resource.ts';
import { syndicationEvents, type SyndicationEvent } from '../../domain/syndication/events.ts';
import {
  syndicationJobs,
  type SyndicationJob,
  type SyndicationStep,
} from '../../domain/syndication/syndication-job.ts';
import {
  shownSyndicationId,
  syndicationIdOf,
  syndicationResource,
  type SyndicationRecord,
} from '../../domain/syndication/resource.ts';
import { syndicationFold, syndicationStream } from '../../domain/syndication/syndication.ts';
import { syndicationPlace, syndicationRead, syndicationStatusList } from './routes.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import type { JobHistory } from '../resources/job-history.ts';
import { toDomainEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { byShownId, each, lastFirst, streamsByShownId, ofAdvertiser } from '../resources/resource-paths.ts';

const resources = {
  AUDIENCE: audienceFold,
  EVENT_SOURCE: eventSourceFold,
  CATALOG: catalogFold,
} as const;

const resourceStream = ({ resourceType, customerId, advertiserId: owner, resourceId }: SyndicationRecord) => {
  const { category, stream } = resources[resourceType];
  return stream(customerId, resourceIdOf(category, customerId, owner, resourceId));
};

const TASKS = {
  AUDIENCE: 'sync_audiences',
  EVENT_SOURCE: 'sync_event_sources',
  CATALOG: 'sync_catalogs',
} as const;

const stepOf = (event: RecordedEvent): SyndicationStep => ({
  eventId: event.id,
  commandId: event.metadata.causationId,
  event: toDomainEvent(event, syndicationEvents) as SyndicationEvent,
});

const jobHistory = (
  { recordId, resourceType, resourceId, agentId }: SyndicationRecord,
  { generation, work, status, begun, joinedBy, steps, calls, endedAt, errorMessage }: SyndicationJob,
): JobHistory => ({
  id: `${shownSyndicationId(recordId)}-g${generation}`,
  begunBy: begun?.commandId,
  joinedBy,
  steps,
  facts: {
    worker: 'syndication',
    work,
    status,
    recordId: shownSyndicationId(recordId),
    resourceType,
    resourceId,
    adcpAgentId: shownAgentId(agentId),
    begunAt: begun?.at,
    endedAt,
    errorMessage,
  },
  calls: calls.map(({ accepted, ...call }) => ({
    adcpAgentId: shownAgentId(agentId),
    task: TASKS[resourceType],
    ...call,
    agentTaskId: accepted?.taskId,
    agentTaskOf: accepted?.taskOf,
    idempotencyKey: accepted?.idempotencyKey,
  })),
});

const jobsAmong = (events: readonly RecordedEvent[], latest: SyndicationRecord): readonly JobHistory[] =>
  syndicationJobs(events.map(stepOf), latest).map((job) => jobHistory(latest, job));

export const syndicationKind = auditedKind({
  ...syndicationFold,
  resourceType: 'SYNDICATION',
  noun: 'syndication record',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ recordId }) => shownSyndicationId(recordId),
  streamsOf: streamsByShownId(syndicationIdOf, syndicationStream),
  audited: (record) => ({
    ...syndicationResource(record),
    generation: record.generation,
    agentTask: record.submitted && {
      taskId: record.submitted.taskId,
      taskOf: record.submitted.taskOf,
      submittedAt: record.submitted.submittedAt,
    },
  }),
  nameOf: ({ resourceId }) => resourceId,
  causes: {
    jobsAmong,
    followed: (record) => [resourceStream(record), advertiserStream(record.customerId, record.advertiserId)],
  },
  place: {
    ...syndicationPlace,
    find: byShownId('recordId', syndicationIdOf, syndicationStream),
    isAt: (record, asked) => ofAdvertiser(record, asked),
  },
  details: [{ route: syndicationRead, shown: syndicationResource }],
  lists: [
    {
      route: syndicationStatusList,
      owner: { resourceType: 'ADVERTISER', parameter: 'advertiserId', mustBeThere: true },
      shown: each(syndicationResource),
      keeps: () => true,
      order: lastFirst(
        ({ updatedAt }) => updatedAt,
        ({ recordId }) => recordId,
      ),
      data: ({ items, total }) => ({ items, total }),
    },
  ],
});
