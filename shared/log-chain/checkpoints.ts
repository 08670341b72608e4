import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { START, type Position } from '../event-store/event-store.ts';
import { genesis, type ChainIdentity } from './chain.ts';
import { microsSql } from './log-bytes.ts';
import type { Signature } from './log-keys.ts';

export interface Checkpoint extends ChainIdentity {
  /** From 1, without gaps. */
  readonly number: number;
  /** Exclusive. */
  readonly after: Position;
  readonly last: Position;
  readonly events: number;
  readonly hash: Buffer;
  readonly leaves: Buffer;
  /** Clock of the sealing process, microseconds since 1970 as stored; `Infinity` is possible. */
  readonly sealedAtMicros: string;
  readonly signature: Signature | undefined;
}

export type ChainEnd = Pick<Checkpoint, 'chain' | 'format' | 'number' | 'last' | 'hash'>;

/** Contains every field of the checkpoint. */
export const signedText = (checkpoint: Omit<Checkpoint, 'signature'>): string => {
  const { chain, number, format, after, last, events, hash, leaves, sealedAtMicros } = checkpoint;
  const leavesHash = createHash('sha256').update(leaves).digest('hex');
  return [
    'buyer-exchange log checkpoint 1',
    chain,
    number,
    format,
    after,
    last,
    events,
    hash.toString('hex'),
    leavesHash,
    sealedAtMicros,
  ].join('\n');
};

export const chainStart = (identity: ChainIdentity, previous?: ChainEnd): ChainEnd => ({
  ...identity,
  number: 0,
  last: START,
  hash: genesis(identity, previous?.hash),
});

/** ISO 8601, UTC; undefined if the stored time is not a valid date. */
export const sealedAtOf = ({ sealedAtMicros }: Pick<Checkpoint, 'sealedAtMicros'>): string | undefined => {
  const date = new Date(Number(sealedAtMicros) / 1_000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

interface Row {
  readonly chain: number;
  readonly number: string;
  readonly format: string;
  readonly after: Position;
  readonly last: Position;
  readonly events: string;
  readonly hash: Buffer;
  readonly leaves: Buffer;
  readonly key_id: string | null;
  readonly signature: Buffer | null;
  readonly sealed_at: string;
}

const written = 'chain, number, format, after, last, events, hash, leaves, key_id, signature';
const columns = `${written}, ${microsSql('sealed_at')} as sealed_at`;

const checkpointOf = ({
  number,
  events,
  key_id: keyId,
  signature,
  sealed_at: sealedAtMicros,
  ...row
}: Row): Checkpoint => ({
  ...row,
  number: Number(number),
  events: Number(events),
  signature: keyId === null || signature === null ? undefined : { keyId, signature },
  sealedAtMicros,
});

type Database = Pick<Pool, 'query'>;

export const lastCheckpoint = async (pool: Database, chain?: number): Promise<Checkpoint | undefined> => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from log_checkpoints
     where chain = coalesce($1, (select max(chain) from log_checkpoints))
     order by chain desc, number desc limit 1`,
    [chain ?? null],
  );
  return rows[0] && checkpointOf(rows[0]);
};

export const checkpointBefore = async (
  pool: Database,
  chain: number,
  position: Position,
): Promise<Checkpoint | undefined> => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from log_checkpoints where chain = $1 and last < $2
     order by chain desc, last desc, number desc limit 1`,
    [chain, position],
  );
  return rows[0] && checkpointOf(rows[0]);
};

export const sealedUpTo = async (
  pool: Database,
  chain: number,
  position: Position,
): Promise<Position | undefined> => {
  const { rows } = await pool.query<{ last: Position }>(
    'select last from log_checkpoints where chain = $1 and last >= $2 order by chain, last, number limit 1',
    [chain, position],
  );
  return rows[0]?.last;
};

/** The signature may be invalid. */
export const isSignedBefore = async (pool: Database, chain: number, number: number): Promise<boolean> => {
  const { rowCount } = await pool.query(
    'select from log_checkpoints where chain = $1 and number < $2 and signature is not null limit 1',
    [chain, number],
  );
  return rowCount === 1;
};

export const isInChain = async (pool: Database, { chain, number, hash }: ChainEnd): Promise<boolean> => {
  const { rowCount } = await pool.query(
    'select from log_checkpoints where chain = $1 and number = $2 and hash = $3',
    [chain, number, hash],
  );
  return rowCount === 1;
};

export const checkpointsAfter = async (
  pool: Database,
  chain: number,
  number: number,
): Promise<readonly Checkpoint[]> => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from log_checkpoints where chain = $1 and number > $2 order by number limit 100`,
    [chain, number],
  );
  return rows.map(checkpointOf);
};

/** False if another process has written a checkpoint with this number. */
export const insertCheckpoint = async (pool: Database, checkpoint: Checkpoint): Promise<boolean> => {
  const { chain, number, format, after, last, events, hash, leaves, signature, sealedAtMicros } = checkpoint;
  const { rowCount } = await pool.query({
    name: 'log-checkpoint-insert',
    text: `insert into log_checkpoints (${written}, sealed_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, to_timestamp($11::bigint / 1000.0))
           on conflict do nothing`,
    values: [
      chain,
      number,
      format,
      after,
      last,
      events,
      hash,
      leaves,
      signature?.keyId ?? null,
      signature?.signature ?? null,
      Number(sealedAtMicros) / 1_000,
    ],
  });
  return rowCount === 1;
};
