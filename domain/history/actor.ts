/** By origin, as the audit log names it: the part of an actor before its `:`. */
export const actorOrigins = {
  API_KEY: 'api-key',
  SESSION: 'session',
  OAUTH: 'oauth',
  MCP: 'mcp',
  USER: 'user',
  INVITATION: 'invitation',
  UPLOAD: 'upload',
  WORKER: 'worker',
  OPERATOR: 'operator',
} as const;

export type ActorOrigin = keyof typeof actorOrigins;

const { API_KEY, SESSION, OAUTH, MCP, USER } = actorOrigins;
const ofUsers: ReadonlySet<string> = new Set([API_KEY, SESSION, OAUTH, MCP]);

const partsOf = (actor: string): readonly [origin: string, id: string] => {
  const colon = actor.indexOf(':');
  return colon < 0 ? [actor, ''] : [actor.slice(0, colon), actor.slice(colon + 1)];
};

const origins: ReadonlyMap<string, ActorOrigin> = new Map(
  (Object.keys(actorOrigins) as ActorOrigin[]).map((origin) => [actorOrigins[origin], origin]),
);

export const originOfActor = (actor: string): ActorOrigin => origins.get(partsOf(actor)[0]) ?? 'OPERATOR';

/** The id of the user's key, session or consent to an app. */
export const credentialOfActor = (actor: string): string | undefined => {
  const [origin, id] = partsOf(actor);
  return ofUsers.has(origin) ? id : undefined;
};

/** The same credential, used by the tools of an agent. */
export const actorOverMcp = (actor: string): string => `${MCP}:${partsOf(actor)[1]}`;

/** The user's id, if the actor is a user without a credential yet, e.g. at the sign-in. */
export const userOfActor = (actor: string): string | undefined => {
  const [origin, id] = partsOf(actor);
  return origin === USER ? id : undefined;
};
