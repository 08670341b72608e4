import { creativeSessionAggregate } from '../../domain/creative-sessions/creative-session.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { creativeSessionRefused } from './creative-session-refusals.ts';

export const {
  run: runOnSession,
  create: createSession,
  load: loadSession,
  doneBefore,
} = handlerFor(creativeSessionAggregate, creativeSessionRefused);
