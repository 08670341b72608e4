import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { UserKey } from './login-rows.ts';

export interface RequestSession {
  readonly user: UserKey;
  readonly sessionId: string;
  readonly context: CommandContext;
}

/** Only for routes with the access `session`. */
export const sessionOf = ({
  principal,
  commandId,
  requestId,
  hasRunBefore,
  onEvents,
}: RequestContext): RequestSession => {
  const { customerId, actor, user, kind } = principal;
  if (kind !== 'session' || user === undefined) throw new Error('the request has no session');
  return {
    user: { customerId, userId: user.id },
    sessionId: actor.slice('session:'.length),
    context: { commandId, customerId, actor, requestId, hasRunBefore, onEvents },
  };
};
