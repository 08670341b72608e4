import { sleep } from '../../shared/async/backoff.ts';

export const isEventStream = (contentType: string | null | undefined): boolean =>
  contentType?.startsWith('text/event-stream') ?? false;

/** A stream of events never ends: what it sends at once is taken for its text. */
const QUIET_MS = 250;

/** The text of an answer. An event stream is closed as soon as it has sent nothing for a quarter of a second. */
export const textOf = async (answer: Response): Promise<string> => {
  if (!isEventStream(answer.headers.get('content-type'))) return answer.text();
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  for (;;) {
    const next = await Promise.race([reader.read(), sleep(QUIET_MS)]);
    if (next?.value === undefined) break;
    chunks.push(next.value);
  }
  await reader.cancel();
  return Buffer.concat(chunks).toString();
};
