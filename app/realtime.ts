import type { IncomingMessage } from 'node:http';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createFeedCursors } from '../query/notifications/cursor.ts';
import { createHub, type HubTimes } from '../query/realtime/hub.ts';
import { createLiveFeed } from '../query/realtime/read-live-feed.ts';
import type { UserStreams } from '../query/realtime/open-for-user.ts';
import { realtimeRoute } from '../query/realtime/routes.ts';
import type { ProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import type { Authenticate } from '../shared/http/authenticate.ts';
import type { AnyRoute } from '../shared/http/route.ts';
import { createOpenStreams } from '../shared/limits/open-streams.ts';
import type { TenantDatabase } from '../shared/postgres/tenant-database.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import { registerStreamMetrics } from './metrics.ts';

export interface RealtimeParts {
  readonly pool: Pool;
  readonly database: TenantDatabase;
  readonly keys: () => Promise<KeyRing>;
  readonly progress: ProjectionProgress;
  readonly baseUrl: () => string;
  readonly authenticate: Authenticate;
  /** Ends all streams. */
  readonly ending: AbortSignal;
  readonly registry: Registry;
  readonly log: Logger;
  /** For tests. */
  readonly replace: { readonly realtime?: Partial<HubTimes> };
}

export interface Realtime {
  readonly route: AnyRoute;
  readonly streams: Pick<UserStreams, 'hub' | 'openStreams'>;
  /** After the end of all streams: otherwise they would count for their users until they expire. */
  close(): Promise<void>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const times: HubTimes = {
  heartbeat: 15 * SECOND,
  cursor: MINUTE,
  blocked: 30 * SECOND,
  age: 30 * MINUTE,
  ageSpread: 2 * MINUTE,
};

export const createRealtime = (parts: RealtimeParts): Realtime => {
  const { pool, keys, progress, authenticate, ending, registry, log } = parts;
  const cursors = createFeedCursors(keys);
  const feed = createLiveFeed({ ...parts, cursors });
  const hub = createHub({ feed, progress, times: { ...times, ...parts.replace.realtime }, log });
  const openStreams = createOpenStreams(pool, log);
  ending.addEventListener('abort', () => hub.close());
  const verify = async (request: IncomingMessage) => {
    const verified = await authenticate(request);
    return verified.outcome === 'verified' ? verified.principal : undefined;
  };
  registerStreamMetrics(registry, () => hub.size());
  return {
    streams: { hub, openStreams },
    route: realtimeRoute({ hub, cursors, openStreams, verify }),
    close: () =>
      openStreams
        .close()
        .catch((error: unknown) => log.warn({ err: error }, 'the streams of this process still count')),
  };
};
