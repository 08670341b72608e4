import { syndicationAggregate } from '../../domain/syndication/syndication.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';

/** Commands on syndication records. */
export const syndicationHandler = handlerFor(syndicationAggregate);
