import type { SourceFacts } from '../../domain/conversions/admit-call.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { eventSourceAggregate, eventSourceStream } from '../../domain/event-sources/event-source.ts';
import type { Fold } from '../../shared/aggregate/aggregate.ts';
import { toDomainEvent, type StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

/** Reads only new events of both streams. Read models may lag, but an archived source must refuse at once. */
export const followSource = (
  store: Pick<EventStore, 'readStream'>,
  customerId: number,
  sourceId: string,
): (() => Promise<SourceFacts | undefined>) => {
  const source = followStream(store, eventSourceStream(customerId, sourceId), eventSourceAggregate);
  const followAdvertiser = (advertiserId: number) =>
    followStream(store, advertiserStream(customerId, advertiserId), advertiserAggregate);
  let advertiser: ReturnType<typeof followAdvertiser> | undefined;

  return async () => {
    // A source never changes its advertiser. From the second call on, both streams are read concurrently.
    let [now, owner] = await Promise.all([source(), advertiser?.()]);
    if (now.status === 'NONE') return undefined;
    if (owner === undefined) {
      advertiser = followAdvertiser(now.advertiserId);
      owner = await advertiser();
    }
    return {
      key: now.key,
      advertiserId: now.advertiserId,
      isArchived: now.status !== 'ACTIVE',
      isAdvertiserArchived: owner.status !== 'ACTIVE',
      allowedTypes: now.eventTypes,
      testEventCode: now.testEventCode,
    };
  };
};

const followStream = <State, Event extends StorableEvent>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  { events, initialState, evolve }: Fold<State, Event>,
): (() => Promise<State>) => {
  let state = initialState;
  let revision = -1;
  return async () => {
    for await (const event of store.readStream(stream, { from: revision + 1 })) {
      state = evolve(state, toDomainEvent(event, events) as Event);
      revision = event.revision;
    }
    return state;
  };
};
