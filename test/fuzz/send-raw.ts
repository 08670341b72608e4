import { connect } from 'node:net';
import { sleep } from '../../shared/async/backoff.ts';
import { parseAnswers, type RawAnswer } from '../support/raw-http.ts';
import type { RawRequest } from './raw-requests.ts';

export interface RawOutcome {
  readonly answers: readonly RawAnswer[];
  /** Milliseconds from the last byte sent, or from the end of this side, to the first answer. */
  readonly tookMs: number;
  /** The problem of the received bytes. */
  readonly failure: string | undefined;
}

/** Pause between two writes, long enough that they arrive separately. */
const BETWEEN_WRITES_MS = 2;
/** An incomplete request gets no answer before this side ends, so this waits only briefly. */
const INCOMPLETE_WAIT_MS = 100;
const SILENCE_MS = 30;
const WAIT_MS_MAX = 10_000;

/** Writes a request piece by piece to its own connection, ends this side, and reads the answers. */
export const sendRaw = async ({ writes, mustBeAnswered }: RawRequest, port: number): Promise<RawOutcome> => {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  let firstAt: number | undefined;
  let isOver = false;
  socket.on('data', (chunk) => {
    firstAt ??= performance.now();
    chunks.push(chunk);
  });
  socket.on('close', () => {
    isOver = true;
  });
  // A reset may end a connection. The check below decides whether an answer is missing.
  socket.on('error', () => undefined);
  for (const piece of writes) {
    if (isOver || socket.destroyed) break;
    socket.write(piece);
    await sleep(BETWEEN_WRITES_MS);
  }
  let sentAt = performance.now();
  const until = async (done: () => boolean, msMax: number): Promise<void> => {
    for (const startedAt = performance.now(); !done() && !isOver && performance.now() - startedAt < msMax;) {
      await sleep(2);
    }
  };
  await until(() => firstAt !== undefined, mustBeAnswered ? WAIT_MS_MAX : INCOMPLETE_WAIT_MS);
  if (firstAt === undefined) sentAt = performance.now();
  else await sleep(SILENCE_MS);
  socket.end();
  await until(() => isOver, WAIT_MS_MAX);
  const tookMs = (firstAt ?? sentAt) - sentAt;
  if (!isOver) {
    socket.destroy();
    return {
      answers: [],
      tookMs,
      failure: `the connection was still open ${WAIT_MS_MAX} ms after the client ended it`,
    };
  }
  try {
    // A status of 100 is not the final answer.
    const answers = parseAnswers(Buffer.concat(chunks).toString('latin1')).filter(
      ({ status }) => status !== 100,
    );
    const isOwed = mustBeAnswered && answers.length === 0;
    return { answers, tookMs, failure: isOwed ? 'no answer to a complete request' : undefined };
  } catch (error) {
    return { answers: [], tookMs, failure: error instanceof Error ? error.message : String(error) };
  }
};
