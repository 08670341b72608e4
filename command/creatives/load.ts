import { creativeAggregate } from '../../domain/creatives/creative.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { creativeRefused } from './creative-refusals.ts';

export const {
  run: runOnCreative,
  create: createCreative,
  execute: executeOnCreative,
  resultOf: creativeOf,
  load: loadCreative,
  doneBefore: creativeDoneBefore,
} = handlerFor(creativeAggregate, creativeRefused);
