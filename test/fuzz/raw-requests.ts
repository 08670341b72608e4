import fc from 'fast-check';
import { wireOf } from './draft.ts';
import { draftOf, validCase, type Credential, type ValidCase } from './fuzz-case.ts';
import type { KnownIds } from './known-ids.ts';
import type { Operation } from './read-operations.ts';
import type { ValueContext } from './valid-value.ts';

/**
 * Requests that no HTTP client sends: the bytes of a valid request, with random edits.
 * `test/integration/http-wire.e2e.test.ts` tests known tricks one by one; here they are combined.
 */
export interface RawCase {
  readonly valid: ValidCase;
  readonly edits: readonly RawEdit[];
  /** Offsets at which the bytes are divided into separate writes. */
  readonly cuts: readonly number[];
}

interface RawDraft {
  startLine: string;
  lines: string[];
  body: Buffer;
  /** Bytes before and after the request. */
  before: Buffer;
  after: Buffer;
  lineEnd: string;
  /** Applied to the complete bytes. */
  readonly byteEdits: ((bytes: Buffer) => Buffer)[];
}

export interface RawEdit {
  /** True if a server must still answer the request. */
  readonly isHarmless: boolean;
  apply(draft: RawDraft): void;
}

const harmless = (apply: (draft: RawDraft) => void): RawEdit => ({ isHarmless: true, apply });
const harmful = (apply: (draft: RawDraft) => void): RawEdit => ({ isHarmless: false, apply });

export const rawCase = (
  operations: readonly Operation[],
  context: ValueContext,
  credentials: readonly Credential[],
): fc.Arbitrary<RawCase> =>
  fc.record({
    valid: fc.oneof(...operations.map((operation) => validCase(operation, context, credentials))),
    edits: fc.array(fc.oneof(harmlessEdit, harmfulEdit, harmfulEdit), { maxLength: 4 }),
    cuts: fc.oneof(fc.constant([]), fc.array(fc.nat(2_000), { maxLength: 5 })),
  });

export interface RawRequest {
  readonly writes: readonly Buffer[];
  /** The number of complete requests. */
  readonly requests: number;
  readonly mustBeAnswered: boolean;
}

export const rawRequestOf = ({ valid, edits, cuts }: RawCase, known: KnownIds): RawRequest => {
  const { method, path, headers, body = Buffer.alloc(0) } = wireOf(draftOf(valid, known));
  const draft: RawDraft = {
    startLine: `${method} ${path} HTTP/1.1`,
    lines: [
      'Host: exchange.test',
      ...headers.flatMap(([name, values]) => values.map((value) => `${name}: ${value}`)),
    ],
    body,
    before: Buffer.alloc(0),
    after: Buffer.alloc(0),
    lineEnd: '\r\n',
    byteEdits: [],
  };
  for (const edit of edits) edit.apply(draft);
  const head = [draft.startLine, ...draft.lines, '', ''].join(draft.lineEnd);
  const whole = Buffer.concat([draft.before, Buffer.from(head, 'latin1'), draft.body, draft.after]);
  const bytes = draft.byteEdits.reduce<Buffer>((edited, edit) => edit(edited), whole);
  const places = [0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return {
    writes: places.slice(1).flatMap((end, at) => {
      const piece = bytes.subarray(places[at], end);
      return piece.length === 0 ? [] : [piece];
    }),
    requests: 1 + (draft.before.length > 0 ? 1 : 0) + (draft.after.length > 0 ? 1 : 0),
    mustBeAnswered: edits.every(({ isHarmless }) => isHarmless),
  };
};

/** A chunked body. The chunk sizes repeat. */
const chunked = (body: Buffer, sizes: readonly number[], extension: string): Buffer => {
  const parts: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const piece = body.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    parts.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
};

const withoutLength = (lines: readonly string[]): string[] =>
  lines.filter((line) => !/^content-length/i.test(line));

const another = Buffer.from('GET /health HTTP/1.1\r\nHost: exchange.test\r\n\r\n');

const harmlessEdit: fc.Arbitrary<RawEdit> = fc.oneof(
  fc.constant(harmless((draft) => (draft.lines = draft.lines.map(upperName)))),
  fc.constant(harmless((draft) => (draft.lines = draft.lines.map((line) => line.replace(': ', ':   \t'))))),
  fc
    .nat(60)
    .map((count) =>
      harmless((draft) =>
        draft.lines.push(...Array.from({ length: count }, (_, at) => `X-Extra-${at}: ${at}`)),
      ),
    ),
  fc.constant(harmless((draft) => (draft.lines = draft.lines.toReversed()))),
  fc
    .tuple(
      fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', ';a=b'),
    )
    .map(([sizes, extension]) =>
      harmless((draft) => {
        if (draft.body.length === 0 || /^transfer-encoding/im.test(draft.lines.join('\n'))) return;
        draft.lines = [...withoutLength(draft.lines), 'Transfer-Encoding: chunked'];
        draft.body = chunked(draft.body, sizes, extension);
      }),
    ),
);

const upperName = (line: string): string => line.replace(/^[^:]+/, (name) => name.toUpperCase());

const bytesAt = (change: (bytes: Buffer, at: number) => Buffer): fc.Arbitrary<RawEdit> =>
  fc
    .nat(5_000)
    .map((where) =>
      harmful((draft) => draft.byteEdits.push((bytes) => change(bytes, where % Math.max(1, bytes.length)))),
    );

const inserted = (piece: Buffer): fc.Arbitrary<RawEdit> =>
  bytesAt((bytes, at) => Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]));

const lineAdded = (line: string): RawEdit => harmful((draft) => draft.lines.push(line));

const harmfulEdit: fc.Arbitrary<RawEdit> = fc.oneof(
  // Lost, changed or additional bytes.
  bytesAt((bytes, at) => bytes.subarray(0, at)),
  bytesAt((bytes, at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])),
  fc
    .nat(255)
    .chain((byte) =>
      bytesAt((bytes, at) => Buffer.from(bytes).fill(byte, at, Math.min(at + 1, bytes.length))),
    ),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).chain((noise) => inserted(Buffer.from(noise))),
  fc
    .constantFrom('\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', ':', '\x80')
    .chain((piece) => inserted(Buffer.from(piece, 'latin1'))),
  // Malformed lines.
  fc
    .constantFrom('\n', '\r', '\r\r\n', '\n\r', '\r\n ')
    .map((end) => harmful((draft) => (draft.lineEnd = end))),
  fc
    .tuple(
      fc.constantFrom('GET', 'get', 'POST', '', 'P\0ST', 'CONNECT', 'PRI', 'OPTIONS', 'X'.repeat(300)),
      fc.constantFrom(
        '*',
        '/',
        '',
        'http://other.test/health',
        '//',
        '/%',
        '/\xff',
        '/a b',
        `/${'a'.repeat(17_000)}`,
        'exchange.test:443',
        '/?#',
      ),
      fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.1 ', 'http/1.1', 'HTTP/11', ''),
    )
    .map(([method, target, version]) =>
      harmful((draft) => (draft.startLine = `${method} ${target} ${version}`)),
    ),
  fc
    .constantFrom('HTTP/1.0', 'HTTP/1.2', 'HTTP/3', 'HTTQ/1.1')
    .map((version) => harmful((draft) => (draft.startLine = draft.startLine.replace('HTTP/1.1', version)))),
  fc
    .constantFrom(
      'Host: other.test',
      'Host:',
      'Host: a b',
      'Connection: close',
      'Connection: upgrade\r\nUpgrade: h2c',
      'X-A: 1\r\n 2',
    )
    .map(lineAdded),
  fc
    .constantFrom(
      'X-No-Colon',
      ': no name',
      'X A: 1',
      `X-Long: ${'a'.repeat(20_000)}`,
      'X-Nul: \0',
      'X-Cr: a\rb',
      'Expect: 100-continue',
      '\xff: 1',
    )
    .map(lineAdded),
  fc.nat(6).map((at) => harmful((draft) => draft.lines.splice(at, 1))),
  fc
    .nat(6)
    .map((at) =>
      harmful((draft) => draft.lines.push(draft.lines[at % Math.max(1, draft.lines.length)] ?? '')),
    ),
  // A wrong length.
  fc
    .constantFrom('0', '-1', '+1', '1', '5, 5', '0x5', '1e2', '18446744073709551616', '', ' ')
    .map((length) =>
      harmful((draft) => (draft.lines = [...withoutLength(draft.lines), `Content-Length: ${length}`])),
    ),
  fc
    .constantFrom(
      'chunked',
      'gzip, chunked',
      'chunked, identity',
      'xchunked',
      '"chunked"',
      'chunked\t',
      '\x0bchunked',
    )
    .map((coding) => lineAdded(`Transfer-Encoding: ${coding}`)),
  fc
    .constantFrom(
      'z\r\n',
      '-1\r\n',
      '5\r\nab',
      'fffffffffffffffff\r\n',
      '0\r\n',
      '0\r\nX-Trailer: 1\r\n\r\n',
      '5;\0\r\nabcde\r\n0\r\n\r\n',
    )
    .map((body) =>
      harmful((draft) => {
        draft.lines = [...withoutLength(draft.lines), 'Transfer-Encoding: chunked'];
        draft.body = Buffer.from(body, 'latin1');
      }),
    ),
  // More than one request.
  fc.constant(harmful((draft) => (draft.after = another))),
  fc.constant(harmful((draft) => (draft.before = another))),
  fc
    .constantFrom('\r\n', '\r\n\r\n\r\n', '\0\0', 'SSH-2.0-x\r\n', '\x16\x03\x01')
    .map((text) =>
      harmful((draft) =>
        draft.byteEdits.push((bytes) => Buffer.concat([Buffer.from(text, 'latin1'), bytes])),
      ),
    ),
);
