import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { START, type Position } from '../event-store/event-store.ts';
import { genesis, type ChainIdentity } from './chain.ts';
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
  readonly signature: Signature | undefined;
}

/** Where a chain is gone on with. */
export type ChainEnd = Pick<Checkpoint, 'chain' | 'format' | 'number' | 'last' | 'hash'>;

/** What is signed: everything that the checkpoint says. */
export const signedText = (checkpoint: Omit<Checkpoint, 'signature'>): string => {
  const { chain, number, format, after, last, events, hash, leaves } = checkpoint;
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
  ].join('\n');
};

export const beginning = (identity: ChainIdentity): ChainEnd => ({
  ...identity,
  number: 0,
  last: START,
  hash: genesis(identity),
});

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
}

const columns = 'chain, number, format, after, last, events, hash, leaves, key_id, signature';

const checkpointOf = ({ number, events, key_id: keyId, signature, ...row }: Row): Checkpoint => ({
  ...row,
  number: Number(number),
  events: Number(events),
  signature: keyId === null || signature === null ? undefined : { keyId, signature },
});

type Database = Pick<Pool, 'query'>;

/** The last checkpoint of the newest chain; of what is before a position, where one is given. */
export const lastCheckpoint = async (pool: Database, before?: Position): Promise<Checkpoint | undefined> => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from log_checkpoints
     where chain = (select max(chain) from log_checkpoints) and ($1::text is null or last < $1)
     order by chain desc, last desc limit 1`,
    [before ?? null],
  );
  return rows[0] && checkpointOf(rows[0]);
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
  const { chain, number, format, after, last, events, hash, leaves, signature } = checkpoint;
  const { rowCount } = await pool.query({
    name: 'log-checkpoint-insert',
    text: `insert into log_checkpoints (${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
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
    ],
  });
  return rowCount === 1;
};
