import { builtInEngine } from '../command/creative-sessions/built-in-engine.ts';
import type { CreativeEngines } from '../command/creative-sessions/creative-engine.ts';
import { creativeSessionWriteRoutes } from '../command/creative-sessions/routes.ts';
import { findLiveConnection } from '../command/engines/find-connection.ts';
import type { ConnectionStores } from '../command/engines/run-on-connection.ts';
import type { CreativeWrites } from '../command/creatives/creative-writes.ts';
import type { SessionListReads } from '../query/creative-sessions/list-sessions.ts';
import { creativeSessionReadRoutes } from '../query/creative-sessions/routes.ts';
import { createSessionCursors } from '../query/creative-sessions/session-cursor.ts';
import type { Route } from '../shared/http/route.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';

export interface SessionParts extends CreativeWrites, SessionListReads {
  readonly keys: () => Promise<KeyRing>;
}

/** The sessions in which a campaign's creatives are made. */
export const sessionRoutes = (parts: SessionParts): readonly Route[] => [
  ...creativeSessionWriteRoutes({ ...parts, engines: enginesOf(parts) }),
  ...creativeSessionReadRoutes({
    ...parts,
    cursors: createSessionCursors(parts.keys),
  }),
];

/** The engine that is built in stands in for whichever engine a connection leads to. */
const enginesOf = (stores: ConnectionStores): CreativeEngines => ({
  engineOf: async (customerId, connectionId) => {
    const isThere =
      connectionId === undefined ||
      (await findLiveConnection(stores, customerId, connectionId)) !== undefined;
    return isThere ? builtInEngine : undefined;
  },
});
