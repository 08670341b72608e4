import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from './errors.ts';

const BODY_BYTES_MAX = 1024 * 1024;

/** @throws ApiError PAYLOAD_TOO_LARGE as soon as that is known, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST */
export const readJsonBytes = async (
  request: IncomingMessage,
  response: ServerResponse,
  { bodyBytesMax: bytesMax = BODY_BYTES_MAX }: { readonly bodyBytesMax?: number },
): Promise<Buffer | undefined> => {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge(bytesMax);
  if (announced === 0 && request.headers['transfer-encoding'] === undefined) return undefined;
  // A client that sends `Expect` receives a refusal before it has sent the body.
  if (request.headers.expect !== undefined) response.writeContinue();
  const bytes = await readBytes(request, bytesMax);
  if (bytes.length === 0) return undefined;
  checkMediaType(request);
  return bytes;
};

/** @throws ApiError PAYLOAD_TOO_LARGE */
export const refuseLargeBody = (
  bytes: number,
  { bodyBytesMax = BODY_BYTES_MAX }: { readonly bodyBytesMax?: number },
): void => {
  if (bytes > bodyBytesMax) throw tooLarge(bodyBytesMax);
};

const readBytes = (request: IncomingMessage, bytesMax: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (finish: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > bytesMax) settle(() => reject(tooLarge(bytesMax)));
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      settle(() =>
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
      );
    const aborted = (): ApiError =>
      new ApiError({ code: 'BAD_REQUEST', message: 'The body ended before its announced length.' });
    const onError = (): void => settle(() => reject(aborted()));
    const onClose = (): void => settle(() => reject(aborted()));
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });

const tooLarge = (bytesMax: number): ApiError =>
  // The unread rest would become the next request.
  new ApiError(
    { code: 'PAYLOAD_TOO_LARGE', message: `The body is larger than ${bytesMax} bytes. Send less at once.` },
    { Connection: 'close' },
  );

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
/** A parameter of a media type (RFC 9110, 5.6.6). Unambiguous, so matching takes linear time. */
const PARAMETER = `;[ \\t]*(?:(${TOKEN})=(${TOKEN}|"(?:[^"\\\\]|\\\\.)*")[ \\t]*)?`;
const PARAMETERS = new RegExp(PARAMETER, 'g');
const JSON_TYPE = new RegExp(`^application/json[ \\t]*((?:${PARAMETER})*)$`, 'i');

const isPlainJson = (type: string): boolean =>
  type === 'application/json' || type === 'application/json; charset=utf-8';

/** Other parameters do not change the body's meaning (RFC 8259, 11). */
const isUtf8Json = (type: string): boolean => {
  if (isPlainJson(type)) return true;
  const parameters = JSON_TYPE.exec(type)?.[1];
  if (parameters === undefined) return false;
  for (const [, name = '', value = ''] of parameters.matchAll(PARAMETERS)) {
    const text = value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;
    if (name.toLowerCase() === 'charset' && text.toLowerCase() !== 'utf-8') return false;
  }
  return true;
};

const checkMediaType = (request: IncomingMessage): void => {
  const coding = request.headers['content-encoding'] ?? 'identity';
  const isJson = isUtf8Json(request.headers['content-type'] ?? '');
  if (isJson && coding.toLowerCase() === 'identity') return;
  throw new ApiError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the body as application/json in UTF-8, without a content encoding.',
  });
};
