import fc from 'fast-check';
import type { Draft, Mutation } from './draft.ts';
import { PathValue, Reference, type KnownIds } from './known-ids.ts';
import { headerText } from './hostile-headers.ts';
import { isLeaf } from './json-text.ts';
import { mutationOf } from './mutations.ts';
import { takesBytes, type Operation, type Parameter } from './read-operations.ts';
import { validMember, validValue, type ValueContext } from './valid-value.ts';

/** Who sends a request: a name, and the header that says so. */
export interface Credential {
  readonly name: string;
  readonly authorization: string | undefined;
  /** How often, relative to the others. */
  readonly weight: number;
  /** Of a key that has this scope and no other: only what asks for it is expected to succeed. */
  readonly scope?: string;
}

/** A valid request to an operation: what has an id in it refers to something that exists. */
export interface ValidCase {
  readonly operation: Operation;
  readonly credential: Credential;
  /** Which of the known things the path names; counted from the newest. */
  readonly index: number;
  readonly isForeign: boolean;
  /** Where nothing is known that the path could name. */
  readonly params: readonly unknown[];
  readonly query: Readonly<Record<string, unknown>>;
  /** Those that the operation reads besides. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
  /** The client's, as a proxy reports it. */
  readonly address: string;
  readonly body: unknown;
}

export interface FuzzCase {
  readonly valid: ValidCase;
  readonly mutations: readonly Mutation[];
  /** Its valid form goes first, so that things come and go while they are attacked. */
  readonly sendsValidFirst: boolean;
}

const MUTATIONS_MAX = 3;

export const fuzzCase = (
  operations: readonly Operation[],
  context: ValueContext,
  credentials: readonly Credential[],
): fc.Arbitrary<FuzzCase> =>
  fc.oneof(
    ...operations.map((operation) =>
      fc.record({
        valid: validCase(operation, context, credentials),
        mutations: fc.array(mutationOf(operation, context.resolve), {
          minLength: 1,
          maxLength: MUTATIONS_MAX,
        }),
        sendsValidFirst: fc.nat(3).map((odds) => odds === 3),
      }),
    ),
  );

export const validCase = (
  operation: Operation,
  context: ValueContext,
  credentials: readonly Credential[],
): fc.Arbitrary<ValidCase> =>
  fc.record({
    operation: fc.constant(operation),
    credential: fc.oneof(
      ...credentials.map((credential) => ({
        weight: credential.weight,
        arbitrary: fc.constant(credential),
      })),
    ),
    index: fc.nat(5),
    isForeign: fc.nat(15).map((odds) => odds === 15),
    params: fc.tuple(
      ...operation.pathParameters.map(({ name, schema }) => validMember(name, schema, context, 0)),
    ),
    query: fc.record(
      Object.fromEntries(
        operation.queryParameters.map((parameter) => [parameter.name, queryValue(parameter, context)]),
      ),
    ),
    headers: fc.record(
      Object.fromEntries(
        operation.headerParameters.map((parameter) => [parameter.name, headerValue(parameter, context)]),
      ),
    ),
    idempotencyKey: context.isPlain === true ? fc.constant(undefined) : idempotencyKey(operation),
    address: clientAddress,
    body: validBody(operation, context),
  });

const validBody = (operation: Operation, context: ValueContext): fc.Arbitrary<unknown> => {
  if (operation.body === undefined) return fc.constant(undefined);
  if (!takesBytes(operation)) return validValue(operation.body.schema, context);
  // The same each time, for one place by whichever method: others would be refused.
  return fc.constantFrom(...(context.isPlain === true ? context.bytes.slice(0, 1) : context.bytes));
};

/** Every second request comes from here. */
export const BUSY_ADDRESS = '192.0.2.1';

const clientAddress: fc.Arbitrary<string> = fc.oneof(
  fc.constant(BUSY_ADDRESS),
  fc.nat(65_535).map((network) => `2001:db8:1:${network.toString(16)}::1`),
);

const queryValue = ({ name, required, schema }: Parameter, context: ValueContext): fc.Arbitrary<unknown> =>
  seldomUnless(required, context, validMember(name, schema, context, 0));

/** What no schema says the form of: text that a header may hold. */
const headerValue = ({ name, required }: Parameter, context: ValueContext): fc.Arbitrary<unknown> => {
  const given = context.members[name];
  return seldomUnless(required, context, given === undefined ? headerText : fc.constantFrom(...given));
};

/** One optional parameter in four. */
const seldomUnless = (
  isRequired: boolean,
  { isPlain }: ValueContext,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> => {
  if (isRequired) return value;
  const none = fc.constant(undefined);
  return isPlain === true ? none : fc.oneof({ weight: 3, arbitrary: none }, { weight: 1, arbitrary: value });
};

/** Mostly none or a new one; a few that come again, with the same request and with others. */
const idempotencyKey = ({ takesIdempotencyKey }: Operation): fc.Arbitrary<string | undefined> =>
  takesIdempotencyKey
    ? fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.stringMatching(/^[A-Za-z0-9_.:-]{16,40}$/) },
        { weight: 2, arbitrary: fc.nat(30).map((number) => `fuzz-key-${String(number).padStart(8, '0')}`) },
      )
    : fc.constant(undefined);

/** The request as its operation wants it, with today's ids in it. */
export const draftOf = (valid: ValidCase, known: KnownIds): Draft => {
  const {
    operation,
    credential,
    index,
    isForeign,
    params,
    query,
    headers: drawnHeaders,
    idempotencyKey: key,
    address,
    body,
  } = valid;
  const ids = known.pathValues(operation.path, index, isForeign);
  const values = params.map((value, at) => ids[at] ?? textOf(fillIn(value, known, [])));
  const filled = fillIn(body, known, values);
  const headers = new Map<string, readonly string[]>([['X-Forwarded-For', [address]]]);
  if (credential.authorization !== undefined) headers.set('Authorization', [credential.authorization]);
  for (const [name, value] of Object.entries(drawnHeaders)) {
    if (value !== undefined) headers.set(name, [textOf(value)]);
  }
  if (key !== undefined) headers.set('Idempotency-Key', [key]);
  if (filled !== undefined) headers.set('Content-Type', [operation.body?.mediaType ?? 'application/json']);
  return {
    method: operation.method,
    template: operation.path,
    values: values.map(encodeURIComponent),
    pathEdits: [],
    query: Object.entries({ ...query, ...known.queryOf(operation.path, values) }).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [`${encodeURIComponent(name)}=${encodeURIComponent(textOf(fillIn(value, known, values)))}`],
    ),
    headers,
    body: filled,
    bodyEdits: [],
  };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const fillIn = (value: unknown, known: KnownIds, pathValues: readonly string[]): unknown => {
  if (value instanceof PathValue) return pathValues[value.position];
  if (value instanceof Reference) return known.resolve(value);
  if (isLeaf(value)) return value;
  if (Array.isArray(value)) return value.map((item) => fillIn(item, known, pathValues));
  return Object.fromEntries(
    Object.entries(value as object).map(([name, member]) => [name, fillIn(member, known, pathValues)]),
  );
};
