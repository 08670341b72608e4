import { createHash, randomBytes } from 'node:crypto';
import type { InitializeRequestParams } from '@modelcontextprotocol/server';
import type { Pool } from 'pg';
import { shownText } from '../shared/outbound/shown-text.ts';
import { sessionQuestions, type SessionQuestions } from './session-questions.ts';

/** Only this credential can use the session. */
export interface SessionHolder {
  readonly customerId: number;
  readonly credential: string;
}

export interface McpSession {
  /** What its client said at its beginning. */
  readonly initialize: InitializeRequestParams;
  readonly questions: SessionQuestions;
  /** @returns false if it follows as many as it may */
  follow(uri: string): Promise<boolean>;
  unfollow(uri: string): Promise<void>;
  /** Those that it follows now, whichever process was told so. */
  followed(uris: readonly string[]): Promise<readonly string[]>;
}

/**
 * Sessions of agents that speak a protocol version up to 2025-11-25. A session holds what its client declared, so any
 * process serves it.
 */
export interface McpSessions {
  /** Above the limit of a credential, its session that was used longest ago ends. @returns the id */
  begin(holder: SessionHolder, initialize: InitializeRequestParams): Promise<string>;
  /** Undefined if there is no such session of this holder, or it was idle for too long. */
  use(holder: SessionHolder, id: string): Promise<McpSession | undefined>;
  /** Is no use: an open stream alone does not keep a session. */
  isLive(holder: SessionHolder, id: string): Promise<boolean>;
  end(holder: SessionHolder, id: string): Promise<boolean>;
}

export interface McpSessionsOptions {
  readonly pool: Pick<Pool, 'query'>;
  /** Names this process after its restart, too. */
  readonly node: () => string;
  /** Default of the specification: 60 minutes. */
  readonly idleMs: number;
}

const SESSIONS_OF_CREDENTIAL_MAX = 20;
/** A session's row stays small. */
export const FOLLOWED_MAX = 100;
/** Of the idle time: a session in use is not written at each request. */
const USE_RECORDED_AFTER = 1 / 60;

interface SessionRow {
  readonly isStale: boolean;
  readonly initialize: InitializeRequestParams;
}

const NAME_LENGTH_MAX = 200;

/** `jsonb` stores neither U+0000 nor half a surrogate pair, which a cut may leave. */
const named = (text: string): string => shownText(text).slice(0, NAME_LENGTH_MAX).toWellFormed();

/** Only what decides how the client is served: the rest may be of any size. */
const declared = ({
  protocolVersion,
  capabilities: { elicitation, sampling, roots },
  clientInfo: { name, version },
}: InitializeRequestParams) => ({
  protocolVersion: named(protocolVersion),
  capabilities: {
    ...(elicitation && {
      elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
    ...(sampling && { sampling: {} }),
    ...(roots && { roots: {} }),
  },
  clientInfo: { name: named(name), version: named(version) },
});

const hashOf = (id: string): Buffer => createHash('sha256').update(id).digest();

export const createMcpSessions = ({ pool, node, idleMs }: McpSessionsOptions): McpSessions => {
  let dropped: Promise<unknown> | undefined;
  /** Specification, Other bounds: a restart of the server ends its sessions. */
  const dropEarlier = async (): Promise<void> => {
    dropped ??= pool.query('delete from mcp_sessions where node = $1', [node()]).catch((error: unknown) => {
      dropped = undefined;
      throw error;
    });
    await dropped;
  };
  const isLive = `used_at > clock_timestamp() - ${idleMs} * interval '1 millisecond'`;
  return {
    begin: async ({ customerId, credential }, initialize) => {
      await dropEarlier();
      const id = randomBytes(24).toString('base64url');
      await pool.query({
        name: 'mcp-session-begin',
        text: `with ended as (
                 delete from mcp_sessions where id_hash in (
                   select id_hash from mcp_sessions where customer_id = $2 and credential = $3
                   order by used_at desc offset ${SESSIONS_OF_CREDENTIAL_MAX - 1}))
               insert into mcp_sessions (id_hash, customer_id, credential, node, initialize) values ($1, $2, $3, $4, $5)`,
        values: [hashOf(id), customerId, credential, node(), JSON.stringify(declared(initialize))],
      });
      return id;
    },
    use: async ({ customerId, credential }, id) => {
      await dropEarlier();
      const hash = hashOf(id);
      const { rows } = await pool.query<SessionRow>({
        name: 'mcp-session-use',
        text: `select used_at < clock_timestamp() - ${idleMs * USE_RECORDED_AFTER} * interval '1 millisecond' as "isStale", initialize
               from mcp_sessions where id_hash = $1 and customer_id = $2 and credential = $3 and ${isLive}`,
        values: [hash, customerId, credential],
      });
      const [row] = rows;
      if (row?.isStale === true) {
        await pool.query({
          name: 'mcp-session-record-use',
          text: 'update mcp_sessions set used_at = clock_timestamp() where id_hash = $1',
          values: [hash],
        });
      }
      return (
        row && {
          initialize: row.initialize,
          questions: sessionQuestions(pool, customerId, hash),
          ...followedResources(pool, hash),
        }
      );
    },
    isLive: async ({ customerId, credential }, id) => {
      const { rowCount } = await pool.query({
        name: 'mcp-session-live',
        text: `select from mcp_sessions where id_hash = $1 and customer_id = $2 and credential = $3 and ${isLive}`,
        values: [hashOf(id), customerId, credential],
      });
      return rowCount === 1;
    },
    end: async ({ customerId, credential }, id) => {
      const { rowCount } = await pool.query({
        name: 'mcp-session-end',
        text: `delete from mcp_sessions where id_hash = $1 and customer_id = $2 and credential = $3 and ${isLive}`,
        values: [hashOf(id), customerId, credential],
      });
      return rowCount === 1;
    },
  };
};

const followedResources = (
  pool: Pick<Pool, 'query'>,
  hash: Buffer,
): Pick<McpSession, 'follow' | 'unfollow' | 'followed'> => ({
  follow: async (uri) => {
    const { rowCount } = await pool.query({
      name: 'mcp-session-follow',
      text: `update mcp_sessions set followed = array_append(array_remove(followed, $2), $2)
             where id_hash = $1 and cardinality(array_remove(followed, $2)) < ${FOLLOWED_MAX}`,
      values: [hash, uri],
    });
    return rowCount === 1;
  },
  unfollow: async (uri) => {
    await pool.query({
      name: 'mcp-session-unfollow',
      text: 'update mcp_sessions set followed = array_remove(followed, $2) where id_hash = $1',
      values: [hash, uri],
    });
  },
  followed: async (uris) => {
    const { rows } = await pool.query<{ readonly uri: string }>({
      name: 'mcp-session-followed',
      text: `select uri from mcp_sessions, unnest($2::text[]) as uri where id_hash = $1 and uri = any(followed)`,
      values: [hash, uris],
    });
    return rows.map(({ uri }) => uri);
  },
});
