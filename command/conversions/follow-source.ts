import type { SourceFacts } from '../../domain/conversions/admit-call.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { eventSourceAggregate, eventSourceStream } from '../../domain/event-sources/event-source.ts';
import type { Fold } from '../../shared/aggregate/aggregate.ts';
import { toDomainEvent, type StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

/**
 * What decides whether a source takes calls, as its stream and its advertiser's say at each call: each time only what
 * is new in them is read. Read models may be behind; whoever has archived a source must find it closed at once.
 */
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
    // A source never changes its advertiser: known from the second time on, and read at the same time.
    let [now, owner] = await Promise.all([source(), advertiser?.()]);
    if (now.status === 'NONE') return undefined;
    if (owner === undefined) {
      advertiser = followAdvertiser(now.advertiserId);
      owner = await advertiser();
    }
    return {
      advertiserId: now.advertiserId,
      isArchived: now.status !== 'ACTIVE',
      isAdvertiserArchived: owner.status !== 'ACTIVE',
      allowedTypes: now.eventTypes,
      testEventCode: now.testEventCode,
    };
  };
};

/** A stream folded to its end, each time from where it was left. */
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
