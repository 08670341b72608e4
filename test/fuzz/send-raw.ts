import { connect } from 'node:net';
import { sleep } from '../../shared/async/backoff.ts';
import { parseAnswers, type RawAnswer } from '../support/raw-http.ts';
import type { RawRequest } from './raw-requests.ts';

export interface RawOutcome {
  readonly answers: readonly RawAnswer[];
  /** From the last byte sent, or from this side's end of the connection, to the first answer; ms. */
  readonly tookMs: number;
  /** What is wrong with the bytes that came back, if anything. */
  readonly failure: string | undefined;
}

/** Between two writes: long enough that they arrive apart. */
const BETWEEN_WRITES_MS = 2;
/** A request that may lack its end gets no answer before this side ends. */
const PATIENCE_MS = 100;
const SILENCE_MS = 30;
const WAIT_MS_MAX = 10_000;

/** Writes a request piece by piece to a connection of its own, ends its side, and takes what comes back. */
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
  // A reset is one way to end a connection; whether an answer was owed is asked below.
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
  await until(() => firstAt !== undefined, mustBeAnswered ? WAIT_MS_MAX : PATIENCE_MS);
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
      failure: `the connection was still open ${WAIT_MS_MAX} ms after its client's end`,
    };
  }
  try {
    // To go on is no answer yet.
    const answers = parseAnswers(Buffer.concat(chunks).toString('latin1')).filter(
      ({ status }) => status !== 100,
    );
    const isOwed = mustBeAnswered && answers.length === 0;
    return { answers, tookMs, failure: isOwed ? 'no answer to a request that is whole' : undefined };
  } catch (error) {
    return { answers: [], tookMs, failure: error instanceof Error ? error.message : String(error) };
  }
};
