import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Splits received bytes into answers. Each must declare its length or have no body. */
export const parseAnswers = (text: string, toHead = false): readonly RawAnswer[] => {
  const answers: RawAnswer[] = [];
  for (let rest = Buffer.from(text, 'latin1'); rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`incomplete answer: ${rest.toString('latin1')}`);
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
    const length = toHead ? 0 : Number(headers['content-length'] ?? 0);
    const body = rest.subarray(end + 4, end + 4 + length).toString('utf8');
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body });
    rest = rest.subarray(end + 4 + length);
  }
  return answers;
};

const WAIT_MS_MAX = 20_000;

export interface RawExchange {
  readonly answers: readonly RawAnswer[];
  readonly first: RawAnswer;
  /** True if the connection ended by a reset or was cut. */
  readonly reset: boolean;
  /** True if the server ended the connection in time. */
  readonly closed: boolean;
}

/**
 * Writes bytes to a new connection and collects the answers. It stops when the server ends the connection, or is silent
 * for `silenceMs` after an answer.
 */
export const rawExchange = (
  port: number,
  bytes: string | Buffer | ((socket: Socket) => void),
  { silenceMs = 150, toHead = false }: { silenceMs?: number; toHead?: boolean } = {},
): Promise<RawExchange> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let reset = false;
    let closed = false;
    let silence: NodeJS.Timeout | undefined;
    const done = (): void => {
      clearTimeout(silence);
      clearTimeout(deadline);
      socket.destroy();
      try {
        const answers = parseAnswers(text, toHead);
        const [first] = answers;
        if (first === undefined) reject(new Error(`no answer; reset: ${reset}, closed: ${closed}`));
        else resolve({ answers, first, reset, closed });
      } catch (error) {
        reject(error);
      }
    };
    const deadline = setTimeout(done, WAIT_MS_MAX);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(silence);
      silence = setTimeout(done, silenceMs);
    });
    socket.on('end', () => {
      closed = true;
      done();
    });
    socket.on('error', () => {
      reset = true;
      done();
    });
    socket.on('connect', () => {
      if (typeof bytes === 'function') bytes(socket);
      else socket.write(bytes);
    });
  });
