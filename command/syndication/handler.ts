import { syndicationAggregate } from '../../domain/syndication/syndication.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';

export const syndicationHandler = handlerFor(syndicationAggregate);
