import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A stored object. */
interface S3Object {
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
}

export interface S3Service {
  /** For `ASSET_STORE_URL`. */
  readonly url: string;
  readonly objects: ReadonlyMap<string, S3Object>;
  /** Method and path of every request, in order. */
  readonly requests: readonly string[];
  /** Sets the failure of all further requests. Undefined: no failure. */
  fail(how: 'error' | 'cut' | 'lost-reply' | 'no-bucket' | undefined): void;
  stop(): Promise<void>;
}

const BUCKET = 'exchange-assets';
const REGION = 'eu-test-1';
const KEY_ID = 'test-key-id';
const SECRET = 'test/secret+key=';

/**
 * The part of S3 that the service uses, in memory: PUT, HEAD, GET with ranges, DELETE, HEAD of the bucket. It checks
 * the signature (version 4) and, if one is named, the checksum. It has no multipart uploads and no lists, since the
 * service does not use them.
 */
export const startS3Service = async (): Promise<S3Service> => {
  const objects = new Map<string, S3Object>();
  const requests: string[] = [];
  let failing: Parameters<S3Service['fail']>[0];
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request;
    requests.push(`${method} ${url}`);
    if (failing === 'cut') return void request.socket.destroy();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (failing === 'error') return refuse(response, 500, 'InternalError');
    if (failing === 'no-bucket') return refuse(response, 404, 'NoSuchBucket');
    const problem = problemOf(request, body);
    if (problem !== undefined) return refuse(response, 403, problem);
    answer(objects, request, body, failing === 'lost-reply' ? undefined : response);
    if (failing === 'lost-reply') request.socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
  const credentials = `${KEY_ID}:${encodeURIComponent(SECRET)}`;
  return {
    url: `s3://${credentials}@${BUCKET}/some/place?region=${REGION}&endpoint=${endpoint}`,
    objects,
    requests,
    fail: (how) => {
      failing = how;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const answer = (
  objects: Map<string, S3Object>,
  { method = '', url = '', headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse | undefined,
): void => {
  const { pathname } = new URL(url, 'http://s3');
  const [, bucket, ...rest] = pathname.split('/');
  const key = rest.join('/');
  const send = (status: number, more = {}, bytes?: Buffer): void => {
    response?.writeHead(status, more);
    response?.end(method === 'HEAD' ? undefined : bytes);
  };
  const missing = (code: string): void => (response === undefined ? undefined : refuse(response, 404, code));
  if (bucket !== BUCKET) return missing('NoSuchBucket');
  if (key === '') return send(method === 'HEAD' ? 200 : 501);
  if (method === 'PUT') {
    objects.set(key, { bytes: body, contentType: headers['content-type'] });
    return send(200, { ETag: `"${createHash('md5').update(body).digest('hex')}"` });
  }
  if (method === 'DELETE') {
    objects.delete(key);
    return send(204);
  }
  const object = objects.get(key);
  if (object === undefined) return missing('NoSuchKey');
  const { bytes, contentType = '' } = object;
  if (method === 'HEAD') return send(200, { 'Content-Length': bytes.length, 'Content-Type': contentType });
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  if (from === undefined || to === undefined) return send(200, { 'Content-Length': bytes.length }, bytes);
  const part = bytes.subarray(Number(from), Number(to) + 1);
  const range = `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}`;
  return send(206, { 'Content-Length': part.length, 'Content-Range': range }, part);
};

const refuse = (response: ServerResponse, status: number, code: string): void => {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  response.end(response.req.method === 'HEAD' ? undefined : `<Error><Code>${code}</Code></Error>`);
};

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Checks signature version 4. @returns the problem with a request, if any */
const problemOf = ({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string | undefined => {
  const [, scope = '', signed = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const [keyId, day = '', region, name, end] = scope.split('/');
  if (keyId !== KEY_ID || region !== REGION || name !== 's3' || end !== 'aws4_request') return 'AccessDenied';
  const payload = String(headers['x-amz-content-sha256']);
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  if (headers['content-length'] !== undefined && Number(headers['content-length']) !== body.length) {
    return 'IncompleteBody';
  }
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const query = [...searchParams]
    .map(([member, value]) => `${encodeURIComponent(member)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&');
  const lines = signed.split(';').map((header) => `${header}:${String(headers[header] ?? '').trim()}\n`);
  const canonical = [method, pathname, query, lines.join(''), signed, payload].join('\n');
  const toSign = [
    'AWS4-HMAC-SHA256',
    String(headers['x-amz-date']),
    scope.slice(scope.indexOf('/') + 1),
    sha256(canonical),
  ].join('\n');
  const key = ['s3', 'aws4_request'].reduce(
    (one, part) => hmac(one, part),
    hmac(hmac(`AWS4${SECRET}`, day), REGION),
  );
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
};
