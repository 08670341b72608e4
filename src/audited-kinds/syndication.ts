import { z } from 'zod';
import { syndicationEvents } from '../domain/syndication/syndication-events.ts';
import {
  shownSyndicationId,
  syndicationIdOf,
  syndicationResource,
} from '../domain/syndication/syndication-resource.ts';
import { SYNDICATION, syndicationDecider, syndicationStream } from '../domain/syndication/syndication.ts';
import { auditedKind } from '../query/history/audited-kind.ts';
import { pathTextId } from '../shared/http/schemas.ts';
import { buyer, advertiserId, byShownId, streamsByShownId, ofAdvertiser } from './places.ts';

export const syndicationKind = auditedKind({
  category: SYNDICATION,
  resourceType: 'SYNDICATION',
  noun: 'syndication record',
  events: syndicationEvents,
  decider: syndicationDecider,
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
  place: {
    path: `${buyer}/advertisers/{id}/syndication-status/{recordId}`,
    params: z.object({ id: advertiserId, recordId: pathTextId('syndication record') }),
    tag: 'Syndication',
    find: byShownId('recordId', syndicationIdOf, syndicationStream),
    isAt: (record, asked) => ofAdvertiser(record, asked),
  },
});
