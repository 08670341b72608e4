import { Query, type ClientBase } from 'pg';

/** What `Query` and its connection have besides what their types say (pg 8.23, lib/query.js, lib/connection.js). */
interface CopyConnection {
  readonly stream: NodeJS.WritableStream & { readonly writableNeedDrain: boolean };
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** Sends what it is given when the server is ready for it, no faster than the server takes it. */
class CopyIn extends Query {
  readonly #chunks: Iterator<Buffer>;
  #isOver = false;
  #failure: Error | undefined;

  constructor(text: string, chunks: Iterable<Buffer>, done: (error: Error | null) => void) {
    super(text, undefined, ((error: Error | null) => {
      this.#isOver = true;
      done(this.#failure ?? error);
    }) as never);
    this.#chunks = chunks[Symbol.iterator]();
  }

  /** Called by the client. */
  handleCopyInResponse(connection: CopyConnection): void {
    while (!this.#isOver) {
      const chunk = this.#next(connection);
      if (chunk === undefined) return;
      connection.sendCopyFromChunk(chunk);
      if (connection.stream.writableNeedDrain) {
        connection.stream.once('drain', () => this.handleCopyInResponse(connection));
        return;
      }
    }
  }

  /** @returns undefined when the server was told that none follows */
  #next(connection: CopyConnection): Buffer | undefined {
    try {
      const { done, value } = this.#chunks.next();
      if (done !== true) return value;
      connection.endCopyFrom();
    } catch (error) {
      // The server answers with an error of its own, which says less.
      this.#failure = error as Error;
      connection.sendCopyFail('no more');
    }
    return undefined;
  }
}

/**
 * `copy ... from stdin`, several times as fast as inserting.
 * @throws what `chunks` throws; what the server says: nothing is there then
 */
export const copyIn = (client: ClientBase, text: string, chunks: Iterable<Buffer>): Promise<void> =>
  new Promise((resolve, reject) => {
    client.query(
      new CopyIn(text, chunks, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      }),
    );
  });

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const CHUNK_BYTES = 256 * 1024;
const NONE: readonly Buffer[] = [];
const TWO_TO_32 = 2 ** 32;
/** 2000-01-01, from which Postgres counts. */
const POSTGRES_EPOCH_MS = 946_684_800_000;

/** Rows in Postgres' binary format of `copy`; what is written is handed out in chunks. */
export class CopyRows {
  #buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  #at = SIGNATURE.copy(this.#buffer);
  #chunks: Buffer[] = [];

  /** @param columns how many follow, each by one call */
  row(columns: number): void {
    if (this.#at > CHUNK_BYTES / 2) this.#next();
    this.#at = this.#buffer.writeInt16BE(columns, this.#at);
  }

  /** A safe integer. */
  int8(value: number): void {
    this.#reserve(12);
    this.#at = this.#buffer.writeInt32BE(8, this.#at);
    this.#at = this.#buffer.writeInt32BE(Math.floor(value / TWO_TO_32), this.#at);
    this.#at = this.#buffer.writeUInt32BE(value >>> 0, this.#at);
  }

  int4(value: number): void {
    this.#reserve(8);
    this.#at = this.#buffer.writeInt32BE(4, this.#at);
    this.#at = this.#buffer.writeInt32BE(value, this.#at);
  }

  boolean(value: boolean): void {
    this.#reserve(5);
    this.#at = this.#buffer.writeInt32BE(1, this.#at);
    this.#at = this.#buffer.writeUInt8(value ? 1 : 0, this.#at);
  }

  /** @param iso ISO 8601 in UTC, milliseconds */
  timestamp(iso: string): void {
    this.int8((Date.parse(iso) - POSTGRES_EPOCH_MS) * 1_000);
  }

  text(value: string): void {
    this.#reserve(4 + 3 * value.length);
    const written = this.#buffer.write(value, this.#at + 4, 'utf8');
    this.#buffer.writeInt32BE(written, this.#at);
    this.#at += 4 + written;
  }

  /** The chunks that are full, once. */
  take(): readonly Buffer[] {
    if (this.#chunks.length === 0) return NONE;
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  /** The rest. */
  end(): readonly Buffer[] {
    this.#reserve(2);
    this.#at = this.#buffer.writeInt16BE(-1, this.#at);
    this.#next();
    return this.take();
  }

  #next(): void {
    this.#chunks.push(this.#buffer.subarray(0, this.#at));
    this.#buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    this.#at = 0;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    this.#chunks.push(this.#buffer.subarray(0, this.#at));
    this.#buffer = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, bytes));
    this.#at = 0;
  }
}
