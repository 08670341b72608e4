import { jsonText } from './json-text.ts';

/** A request in preparation. Mutations change the valid form; then it is serialized once. */
export interface Draft {
  method: string;
  /** The path's template, and its percent-encoded values. */
  readonly template: string;
  values: string[];
  /** Applied to the serialized path. */
  readonly pathEdits: ((path: string) => string)[];
  /** Percent-encoded `name=value`. */
  query: string[];
  /** Several values of one name become several header lines. */
  readonly headers: Map<string, readonly string[]>;
  /** Undefined sends no body. Bytes are sent unchanged, any other value as JSON. */
  body: unknown;
  /** Applied to the serialized body. */
  readonly bodyEdits: ((bytes: Buffer) => Buffer)[];
}

/** Breaks one rule of the operation's declaration. A request can have several mutations. */
export type Mutation = (draft: Draft) => void;

/** The serialized request. */
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

/** Node's HTTP client refuses other characters; the raw requests send them. */
const sendable = (path: string): string =>
  path.replaceAll(/[^\x21-\xff]/gu, (character) => encodeURIComponent(character.toWellFormed()));

const BODY_SHOWN_MAX = 4_000;

/** A `curl` command that repeats the request. */
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
