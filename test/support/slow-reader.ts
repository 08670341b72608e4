import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { framesOf } from './sse.ts';

/** Any gap, duplicate or change of the order changes it. */
const chained = (before: string, id: string): string =>
  createHash('sha1')
    .update(before + id)
    .digest('base64');

/** For each number of ids, what a reader that received exactly them has. */
export const chainsOf = (ids: readonly string[]): readonly string[] => {
  const chains = [''];
  for (const id of ids) chains.push(chained(chains.at(-1) ?? '', id));
  return chains;
};

/** Reads a stream since the earliest event, only when `read` is called, and resumes as `EventSource` does. */
export class SlowReader {
  /** Connections that the service has accepted. */
  connections = 0;
  received = 0;
  chain = '';
  /** The service has ended the connection, and everything that came before was read. */
  isOver = true;
  readonly #port: number;
  readonly #apiKey: string;
  #response: IncomingMessage | undefined;
  #lastId: string | undefined;
  #rest = '';

  constructor(port: number, apiKey: string) {
    this.#port = port;
    this.#apiKey = apiKey;
  }

  /** @returns false if the user has too many streams: the service has not noticed yet that the last one is over */
  async open(): Promise<boolean> {
    const request = get({
      host: '127.0.0.1',
      port: this.#port,
      path: '/api/v2/buyer/realtime?topics=advertiser.updated&since=earliest',
      headers: {
        Authorization: `Bearer ${this.#apiKey}`,
        ...(this.#lastId === undefined ? {} : { 'Last-Event-ID': this.#lastId }),
      },
      agent: false,
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) {
      response.resume();
      if (response.statusCode === 429) return false;
      throw new Error(`status ${response.statusCode}`);
    }
    this.connections += 1;
    this.isOver = false;
    this.#rest = '';
    this.#response = response;
    response.setEncoding('utf8');
    response.on('error', () => undefined);
    response.once('close', () => {
      if (this.#response === response) this.isOver = true;
    });
    return true;
  }

  /** Without a call, it reads nothing. */
  read(charactersMax: number): void {
    const response = this.#response;
    if (response === undefined) return;
    const length = Math.min(charactersMax, response.readableLength);
    // Reading nothing asks the connection for more.
    const text = response.read(length) as string | null;
    if (text === null) return;
    const known = this.#rest + text;
    const end = known.lastIndexOf('\n\n') + 2;
    this.#rest = end < 2 ? known : known.slice(end);
    if (end < 2) return;
    for (const { id, event, data } of framesOf(known.slice(0, end))) {
      this.#lastId = id ?? this.#lastId;
      if (event === 'reset') throw new Error('the stream was reset');
      if (event !== 'advertiser.updated') continue;
      this.received += 1;
      this.chain = chained(this.chain, (JSON.parse(data) as { id: string }).id);
    }
  }

  close(): void {
    this.#response?.destroy();
    this.#response = undefined;
  }
}
