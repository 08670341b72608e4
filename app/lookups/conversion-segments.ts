import type { Pool } from 'pg';
import type { Segments } from '../../command/conversions/segments.ts';

interface Row {
  readonly first_revision: string;
  readonly last_revision: string;
  readonly recorded_at: Date;
  readonly fingerprints: Buffer;
  readonly commands: Buffer;
}

const PAGE_ROWS_MAX = 1_000;
/** Per page, plus one row: 65,536 fingerprints. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** Copies little-endian words, because `pg` returns unaligned views of a larger buffer. */
const wordsOf = (bytes: Buffer): Uint32Array => {
  const words = new Uint32Array(bytes.length / 4);
  Buffer.from(words.buffer).set(bytes);
  return words;
};

export const createSegments = (pool: Pick<Pool, 'query'>): Segments => ({
  before: async (customerId, sourceId, revision) => {
    const { rows } = await pool.query<Row>({
      name: 'conversion-segments-before',
      text: `select first_revision, last_revision, recorded_at, fingerprints, commands
             from (select s.*, sum(octet_length(fingerprints)) over (order by last_revision desc) as bytes
                   from (select * from conversion_segments
                         where customer_id = $1 and source_id = $2 and last_revision < $3
                         order by last_revision desc limit ${PAGE_ROWS_MAX}) s) w
             where bytes - octet_length(fingerprints) < ${PAGE_BYTES_MAX}
             order by last_revision desc`,
      values: [customerId, sourceId, revision],
    });
    return rows.map((row) => ({
      firstRevision: Number(row.first_revision),
      lastRevision: Number(row.last_revision),
      recordedAtMs: row.recorded_at.getTime(),
      fingerprints: wordsOf(row.fingerprints),
      commands: wordsOf(row.commands),
    }));
  },
  ofCommand: async (customerId, sourceId, commandId) => {
    const { rows } = await pool.query<{ revision: string }>({
      name: 'conversion-commands-of',
      text: `select revision from conversion_commands
             where customer_id = $1 and source_id = $2 and command_id = $3 order by revision`,
      values: [customerId, sourceId, commandId],
    });
    return rows.map(({ revision }) => Number(revision));
  },
});
