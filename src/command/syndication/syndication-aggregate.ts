import { syndicationEvents } from '../../domain/syndication/syndication-events.ts';
import { syndicationDecider } from '../../domain/syndication/syndication.ts';

/** Syndication records, as everybody loads them: one `foldVersion`, whoever keeps a snapshot. */
export const syndicationAggregate = {
  decider: syndicationDecider,
  events: syndicationEvents,
  foldVersion: 3,
};
