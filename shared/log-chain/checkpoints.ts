import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { START, type Position } from '../event-store/event-store.ts';
import { genesis, type ChainIdentity } from './chain.ts';
import { microsSql } from './log-bytes.ts';
import type { Signature } from './log-keys.ts';

/** What the chain had come to behind an event. */
export interface Checkpoint extends ChainIdentity {
  /** From 1, without gaps. */
  readonly number: number;
  /** Its events are behind this position, up to `last`. */
  readonly after: Position;
  readonly last: Position;
  /** Its own events. */
  readonly events: number;
  readonly hash: Buffer;
  /** `LEAF_BYTES` an event. */
  readonly leaves: Buffer;
  /** When, by the sealing process's clock: microseconds since 1970 in digits, exactly as stored; `Infinity` for none. */
  readonly sealedAtMicros: string;
  readonly signature: Signature | undefined;
}

/** Where a chain is gone on with. */
export type ChainEnd = Pick<Checkpoint, 'chain' | 'format' | 'number' | 'last' | 'hash'>;

/** What is signed: everything that the checkpoint says. */
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

/** @param previous the end of the chain before, if there is one */
export const beginning = (identity: ChainIdentity, previous?: ChainEnd): ChainEnd => ({
  ...identity,
  number: 0,
  last: START,
  hash: genesis(identity, previous?.hash),
});

/** ISO 8601, UTC; undefined when the checkpoint names no time that there is. */
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

/**
 * The last checkpoint of a chain, by its number.
 * @param chain default: the newest one
 */
export const lastCheckpoint = async (pool: Database, chain?: number): Promise<Checkpoint | undefined> => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from log_checkpoints
     where chain = coalesce($1, (select max(chain) from log_checkpoints))
     order by chain desc, number desc limit 1`,
    [chain ?? null],
  );
  return rows[0] && checkpointOf(rows[0]);
};

/** The last checkpoint of a chain that ends before a position. */
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

/** Where the first checkpoint ends that a position is sealed with; undefined when it is not sealed. */
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

/** Whether any checkpoint before a number is signed, by whomever. */
export const isSignedBefore = async (pool: Database, chain: number, number: number): Promise<boolean> => {
  const { rowCount } = await pool.query(
    'select from log_checkpoints where chain = $1 and number < $2 and signature is not null limit 1',
    [chain, number],
  );
  return rowCount === 1;
};

/** Whether the chain is still what it was: whoever goes on from there knows. */
export const isInChain = async (pool: Database, { chain, number, hash }: ChainEnd): Promise<boolean> => {
  const { rowCount } = await pool.query(
    'select from log_checkpoints where chain = $1 and number = $2 and hash = $3',
    [chain, number, hash],
  );
  return rowCount === 1;
};

/** Checkpoints of a chain behind a number, in order, some at a time. */
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

/** @returns false when somebody else has written it: go on behind that one */
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
