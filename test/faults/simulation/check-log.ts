import { isDeepStrictEqual } from 'node:util';
import type { RecordedEvent } from '../../../shared/event-store/event-store.ts';
import type { Attempt } from './client.ts';
import { changesOf, FIRST_NEW_ID, type SimulatedRequest } from './request.ts';

/** Gaps, duplicate event ids, and events that no decision could have made. */
export const logProblems = (events: readonly RecordedEvent[]): readonly string[] => {
  const problems: string[] = [];
  const revisions = new Map<string, number>();
  const archived = new Map<string, boolean>();
  const ids = new Set<string>();
  for (const { stream, revision, id, type } of events) {
    const expected = (revisions.get(stream) ?? -1) + 1;
    if (revision !== expected) problems.push(`${stream}@${revision} follows ${expected - 1}`);
    revisions.set(stream, revision);
    if (ids.has(id)) problems.push(`event id ${id} appears twice`);
    ids.add(id);
    const isArchived = archived.get(stream) ?? false;
    const isPossible = type === 'AdvertiserRestored' ? isArchived : !isArchived;
    if (!isPossible) problems.push(`${type} at ${stream}@${revision} was decided on another state`);
    archived.set(stream, type === 'AdvertiserArchived' || (isArchived && type !== 'AdvertiserRestored'));
  }
  return problems;
};

const typeOf = ({ kind }: SimulatedRequest): string => {
  if (kind === 'create') return 'AdvertiserCreated';
  if (kind === 'archive') return 'AdvertiserArchived';
  return kind === 'restore' ? 'AdvertiserRestored' : 'AdvertiserUpdated';
};

const isEffectOf = ({ type, stream, data }: RecordedEvent, request: SimulatedRequest): boolean => {
  if (type !== typeOf(request)) return false;
  const id = Number(stream.split('-')[2]);
  if (request.kind === 'create') return data['name'] === request.value && id >= FIRST_NEW_ID;
  const isItsTarget = id === request.advertiserId;
  return (
    isItsTarget && (type !== 'AdvertiserUpdated' || isDeepStrictEqual(data['changes'], changesOf(request)))
  );
};

/** An event must be exactly what a request with its key asked for. */
export const eventProblem = (event: RecordedEvent, attempts: readonly Attempt[]): string | undefined =>
  attempts.some(({ request }) => isEffectOf(event, request))
    ? undefined
    : `${event.type} ${JSON.stringify(event.data)} in ${event.stream} was not requested`;
