import { jsonText } from './json-text.ts';

/** A request on its way from valid to malformed. Mutations change it; then it is written as bytes, once. */
export interface Draft {
  method: string;
  /** Template of the path, and the percent-encoded values in it. */
  readonly template: string;
  values: string[];
  /** On the path as it will be sent. */
  readonly pathEdits: ((path: string) => string)[];
  /** Percent-encoded `name=value`. */
  query: string[];
  /** Several values of one name are several lines. */
  readonly headers: Map<string, readonly string[]>;
  /** Undefined: no body; bytes are sent as they are, all else as JSON. */
  body: unknown;
  /** On the body's bytes, last of all. */
  readonly bodyEdits: ((bytes: Buffer) => Buffer)[];
}

/** One way in which a request is no longer what its operation declares. Several may meet in one request. */
export type Mutation = (draft: Draft) => void;

/** A request as it is sent. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, values: readonly string[]])[];
  readonly body: Buffer | undefined;
}

export const wireOf = (draft: Draft): WireRequest => {
  let at = 0;
  const filled = draft.template.replaceAll(/\{\w+\}/g, () => draft.values[at++] ?? '');
  const target = draft.query.length === 0 ? filled : `${filled}?${draft.query.join('&')}`;
  const path = draft.pathEdits.reduce((text, edit) => edit(text), target);
  const body =
    draft.body === undefined && draft.bodyEdits.length === 0
      ? undefined
      : draft.bodyEdits.reduce<Buffer>((bytes, edit) => edit(bytes), bytesOf(draft.body));
  const headers = new Map(draft.headers);
  if (body !== undefined && !headers.has('Transfer-Encoding')) {
    headers.set('Content-Length', [String(body.length)]);
  }
  return { method: draft.method, path: sendable(path), headers: [...headers], body };
};

const bytesOf = (body: unknown): Buffer =>
  body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(jsonText(body));

/** What an HTTP client may write into a request line: the rest is for the raw requests. */
const sendable = (path: string): string =>
  path.replaceAll(/[^\x21-\xff]/gu, (character) => encodeURIComponent(character.toWellFormed()));

const BODY_SHOWN_MAX = 4_000;

/** The request as a command that sends it again. */
export const curlOf = ({ method, path, headers, body }: WireRequest, baseUrl: string): string => {
  const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const lines = headers
    .filter(([name]) => name !== 'Content-Length')
    .flatMap(([name, values]) =>
      values.map((value) => `-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`),
    );
  const parts = [`curl -si --path-as-is --globoff -X ${quote(method)}`, ...lines, quote(baseUrl + path)];
  if (body === undefined) return parts.join(' ');
  if (body.length > BODY_SHOWN_MAX) {
    return `${parts.join(' ')}  # with a body of ${body.length} bytes that begins ${body.subarray(0, 100).toString()}`;
  }
  return `echo ${body.toString('base64')} | base64 -d | ${parts.join(' ')} --data-binary @-  # ${JSON.stringify(body.toString('latin1').slice(0, 300))}`;
};
