import { audienceAggregate } from '../../domain/audiences/audience.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';

export const { execute: executeOnAudience, loadWithRevision: loadAudience } = handlerFor(audienceAggregate);
