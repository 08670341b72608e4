import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { AdapterPayload } from 'oidc-provider';

/** A refresh token stays valid for this time after its first use: honest clients refresh twice at once. */
const GRACE_SECONDS = 30;
/** Tokens that one refresh token may be exchanged for within the grace. */
const SUCCESSORS_MAX = 5;

/**
 * An expired access token is said to be expired for this time, and to be unknown afterwards. Interactions end at once: for
 * the price of a request without a credential, each stores what the client sent.
 */
const KEPT = `case $1 when 'Interaction' then interval '0' else interval '1 day' end`;

interface Row {
  readonly payload: AdapterPayload;
  readonly isConsumed: boolean;
}

/** Codes, tokens and interactions. Their ids are secrets: only hashes are stored. */
export interface OAuthRecords {
  write(kind: string, id: string, payload: AdapterPayload, ttlSeconds: number): Promise<void>;
  find(kind: string, id: string): Promise<AdapterPayload | undefined>;
  /** False if it was used already: for a refresh token, more often than the grace allows. */
  consume(kind: string, id: string): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
}

const hashOf = (id: string): Buffer => createHash('sha256').update(id).digest();

export const createOAuthRecords = (pool: Pick<Pool, 'query'>): OAuthRecords => ({
  write: async (kind, id, given, ttlSeconds) => {
    const { jti: _, ...payload } = given;
    await pool.query({
      name: 'oauth-record-write',
      text: `insert into oauth_records (kind, id_hash, grant_id, payload, expires_at, kept_until)
             values ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5),
               clock_timestamp() + make_interval(secs => $5) + ${KEPT})
             on conflict (kind, id_hash) do update
               set payload = excluded.payload, expires_at = excluded.expires_at, kept_until = excluded.kept_until`,
      values: [kind, hashOf(id), payload.grantId, JSON.stringify(payload), ttlSeconds],
    });
  },
  find: async (kind, id) => {
    const { rows } = await pool.query<Row>({
      name: 'oauth-record-find',
      text: `select payload, coalesce(case kind
               when 'RefreshToken' then consumed_at <= clock_timestamp() - interval '${GRACE_SECONDS} seconds'
               else true end and consumed_at is not null, false) as "isConsumed"
             from oauth_records where kind = $1 and id_hash = $2`,
      values: [kind, hashOf(id)],
    });
    const [row] = rows;
    if (row === undefined) return undefined;
    return { ...row.payload, jti: id, ...(row.isConsumed && { consumed: true }) };
  },
  consume: async (kind, id) => {
    const { rowCount } = await pool.query({
      name: 'oauth-record-consume',
      text: `update oauth_records set consumed_at = coalesce(consumed_at, clock_timestamp()), uses = uses + 1
             where kind = $1 and id_hash = $2 and (consumed_at is null or (kind = 'RefreshToken'
               and consumed_at > clock_timestamp() - interval '${GRACE_SECONDS} seconds' and uses < ${SUCCESSORS_MAX}))`,
      values: [kind, hashOf(id)],
    });
    return rowCount === 1;
  },
  remove: async (kind, id) => {
    await pool.query({
      name: 'oauth-record-remove',
      text: 'delete from oauth_records where kind = $1 and id_hash = $2',
      values: [kind, hashOf(id)],
    });
  },
});
