import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerBrokenRequests } from '../../shared/http/broken-request.ts';
import { errorCodes, type ErrorCode } from '../../shared/http/errors.ts';
import { createLog } from '../../app/log.ts';
import type { Defect } from './planted-defects.ts';
import { reportToParent } from './report-to-parent.ts';

/**
 * A small hand-written service. Without a defect it is correct. `DEFECT` names one planted defect that the fuzzer must
 * find.
 */
const defect = (process.env['DEFECT'] ?? 'none') as Defect | 'none';

const NO_OBJECT = 'Send an object.';
const DEPTH_MAX = 32;
const BODY_BYTES_MAX = 1024 * 1024;
const things = new Map<number, string>([[1, 'first']]);

class Refusal extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const error = { type: 'object', required: ['data', 'error'] };
const enveloped = { type: 'object', properties: { data: {}, error: { type: 'null' } } };
const answered = (schema: object) => ({ description: '', content: { 'application/json': { schema } } });
const responses = (status: number) => ({ [status]: answered(enveloped), default: answered(error) });
const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1, maximum: 999 } };
const Thing = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1, maxLength: 50 }, labels: { type: 'object' } },
};
const thingBody = { required: true, content: { 'application/json': { schema: Thing } } };
const document = {
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: {
    '/things': { post: { operationId: 'createThing', requestBody: thingBody, responses: responses(201) } },
    '/things/{id}': { get: { operationId: 'getThing', parameters: [id], responses: responses(200) } },
    '/openapi.json': { get: { operationId: 'getOpenApi', responses: { 200: answered({ type: 'object' }) } } },
  },
};

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    throw new Refusal('BAD_REQUEST', 'The body is incomplete.');
  }
  if (bytes > BODY_BYTES_MAX) throw new Refusal('PAYLOAD_TOO_LARGE', 'The body is too large.');
  return Buffer.concat(chunks).toString();
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('BAD_REQUEST', 'Send JSON.');
  }
};

const depthOf = (value: unknown, limit: number): number => {
  if (limit === 0 || typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((most, one) => Math.max(most, depthOf(one, limit - 1)), 0);
};

/** The usual vulnerable form: it also copies `__proto__`. */
const merge = (target: Record<string, unknown>, source: object): Record<string, unknown> => {
  for (const key in source) {
    const value = (source as Record<string, unknown>)[key];
    if (typeof value === 'object' && value !== null)
      merge((target[key] ??= {}) as Record<string, unknown>, value);
    else target[key] = value;
  }
  return target;
};

const createThing = (text: string): string => {
  const value = parse(text);
  if (typeof value !== 'object' || value === null) throw new Refusal('VALIDATION_ERROR', NO_OBJECT);
  const depth = depthOf(value, DEPTH_MAX + 1);
  if (depth > DEPTH_MAX && defect === 'deep') throw new RangeError('Maximum call stack size exceeded');
  if (depth > DEPTH_MAX) throw new Refusal('VALIDATION_ERROR', 'The body is nested too deeply.');
  const { name } = defect === 'pollution' ? merge({}, value) : (value as Record<string, unknown>);
  if (typeof name !== 'string' || name === '' || Array.from(name).length > 50) {
    throw new Refusal('VALIDATION_ERROR', 'name must be text of 1 to 50 characters.');
  }
  if (name.includes('\0')) {
    if (defect === 'nul') throw new Error('invalid byte sequence for encoding "UTF8": 0x00');
    throw new Refusal('VALIDATION_ERROR', 'name must not contain NUL.');
  }
  const created = things.size + 1;
  if (created < 999) things.set(created, name);
  return JSON.stringify({ id: Math.min(created, 998) });
};

const getThing = (path: string): string => {
  const last = path.split('/').at(-1) ?? '';
  const text = defect === 'exit' ? decodeURIComponent(last) : last;
  if (!/^[1-9]\d{0,2}$/.test(text))
    throw new Refusal('VALIDATION_ERROR', 'id must be a number from 1 to 999.');
  const name = things.get(Number(text));
  if (name === undefined) throw new Refusal('NOT_FOUND', 'Resource not found.');
  return JSON.stringify({ id: Number(text), name: name.slice(0, 10) });
};

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const [path = ''] = (request.url ?? '').split('?');
  const body = await readBody(request);
  const allowed =
    path === '/things' ? 'POST' : path === '/openapi.json' || /^\/things\/[^/]+$/.test(path) ? 'GET' : '';
  if (allowed === '') throw new Refusal('NOT_FOUND', 'Path not found.');
  if (request.method !== allowed) {
    response.setHeader('Allow', allowed);
    throw new Refusal('METHOD_NOT_ALLOWED', `Use ${allowed}.`);
  }
  if (path === '/openapi.json') return send(response, 200, JSON.stringify(document));
  const data = path === '/things' ? createThing(body) : getThing(path);
  return send(response, path === '/things' ? 201 : 200, `{"data":${data},"error":null}`);
};

const send = (response: ServerResponse, status: number, text: string): void => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.statusCode = status;
  response.end(text);
};

const refuse = (response: ServerResponse, failure: unknown): void => {
  if (failure instanceof URIError) throw failure;
  const code = failure instanceof Refusal ? failure.code : 'INTERNAL_ERROR';
  const message = failure instanceof Refusal ? failure.message : 'Internal error.';
  const isBare = defect === 'envelope' && message === NO_OBJECT;
  const body = isBare ? { message } : { data: null, error: { code, message } };
  const shown =
    defect === 'leak' && code === 'BAD_REQUEST'
      ? { ...body, error: { code, message: String((failure as Error).stack) } }
      : body;
  send(response, errorCodes[code].status, JSON.stringify(shown));
};

const serve = (request: IncomingMessage, response: ServerResponse): void => {
  response.setHeader('X-Request-Id', randomUUID());
  // An error thrown by `refuse` ends the process, because no caller awaits it.
  void answer(request, response).catch((failure: unknown) => refuse(response, failure));
};
const server = createServer({ requireHostHeader: false }, serve).on('checkExpectation', serve);
if (defect !== 'raw') {
  const pace = { bytesPerSecondMin: 1, spanMs: 1_000 };
  answerBrokenRequests(server, { log: createLog('silent'), headers: [], pace });
}
server.listen(0, '127.0.0.1', () => reportToParent((server.address() as AddressInfo).port, () => []));
