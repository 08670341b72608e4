import type { Pool } from 'pg';
import type { Position } from '../../shared/event-store/event-store.ts';

/** Ignored from its first failing event on. */
export interface ParkedStream {
  readonly projection: string;
  readonly stream: string;
  readonly customerId: number;
  readonly position: Position;
  readonly revision: number;
  readonly eventType: string;
  /** At most 500 characters. May quote the event's data: for operators only. */
  readonly error: string;
  readonly attempts: number;
  readonly parkedAt: Date;
}

export const parkedColumns = `projection, stream, customer_id::float8 as "customerId", position,
  revision::float8 as revision, event_type as "eventType", error, attempts, parked_at as "parkedAt"`;

export interface ListParkedOptions {
  readonly projection?: string;
  readonly after?: Pick<ParkedStream, 'projection' | 'stream'>;
  /** 1 to 1,000; default 100. */
  readonly limit?: number;
}

export const listParked = async (
  pool: Pool,
  { projection, after, limit = 100 }: ListParkedOptions = {},
): Promise<readonly ParkedStream[]> => {
  const { rows } = await pool.query<ParkedStream>(
    `select ${parkedColumns} from parked_streams
     where ($1::text is null or projection = $1) and (projection, stream) > ($2, $3)
     order by projection, stream limit $4`,
    [projection, after?.projection ?? '', after?.stream ?? '', Math.max(1, Math.min(limit, 1_000))],
  );
  return rows;
};
