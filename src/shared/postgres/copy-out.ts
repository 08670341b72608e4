import { Query, type ClientBase } from 'pg';

/** What the parser of `pg` gives for each row (pg-protocol 1.x, dist/messages.js). */
interface CopyDataMessage {
  readonly chunk: Buffer;
}

/** Rows in Postgres' binary format of `copy`, one behind the other. */
export interface CopiedRows {
  readonly bytes: Buffer;
  /** Where each begins in `bytes`: with the number of its columns. */
  readonly starts: readonly number[];
}

const SIGNATURE_BYTES = 11;
/** Signature, flags, length of what follows of the header. */
const HEADER_BYTES = SIGNATURE_BYTES + 4 + 4;
/** Instead of a number of columns: no row follows. */
const END = -1;
const FIRST_BYTES = 256 * 1024;

/** Gathers the rows. The server sends each in a message of its own, the header with the first, the end by itself. */
class CopyOut extends Query {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;
  #isBegun = false;
  readonly #starts: number[] = [];

  constructor(text: string, settle: (error: Error | null, rows: CopiedRows) => void) {
    super(text, undefined, ((error: Error | null) => {
      settle(error, { bytes: this.#bytes.subarray(0, this.#at), starts: this.#starts });
    }) as never);
  }

  /** Called by the client. What is handed over is overwritten when the next message comes. */
  handleCopyData({ chunk }: CopyDataMessage): void {
    const from = this.#isBegun ? 0 : HEADER_BYTES + chunk.readInt32BE(SIGNATURE_BYTES + 4);
    this.#isBegun = true;
    if (chunk.readInt16BE(from) === END) return;
    const bytes = chunk.length - from;
    if (this.#at + bytes > this.#bytes.length) this.#grow(bytes);
    this.#starts.push(this.#at);
    this.#at += chunk.copy(this.#bytes, this.#at, from);
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/**
 * `copy (...) to stdout (format binary)`: rows as bytes, several times as fast as a result that becomes values.
 * @param text the whole statement; it takes no parameters
 * @returns all rows: they must fit into memory
 * @throws what the server says
 */
export const copyOut = (client: ClientBase, text: string): Promise<CopiedRows> =>
  new Promise((resolve, reject) => {
    client.query(
      new CopyOut(text, (error, rows) => {
        if (error === null || error === undefined) resolve(rows);
        else reject(error);
      }),
    );
  });
