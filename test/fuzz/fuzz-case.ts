import fc from 'fast-check';
import type { Draft, Mutation } from './draft.ts';
import { PathValue, Reference, type KnownIds } from './known-ids.ts';
import { headerText } from './hostile-headers.ts';
import { isLeaf } from './json-text.ts';
import { mutationOf } from './mutations.ts';
import { takesBytes, type Operation, type Parameter } from './read-operations.ts';
import { validMember, validValue, type ValueContext } from './valid-value.ts';

/** The sender of a request. */
export interface Credential {
  readonly name: string;
  readonly authorization: string | undefined;
  /** Belongs to the same user: for operations that only a signed-in person may call. */
  readonly cookie?: string;
  /** Relative to the other credentials. */
  readonly weight: number;
  /** The only scope of the key. Only operations that require it are expected to succeed. */
  readonly scope?: string;
}

/** A valid request to an operation. Its ids refer to existing resources. */
export interface ValidCase {
  readonly operation: Operation;
  readonly credential: Credential;
  /** Index of the known resource that the path names, from the newest. */
  readonly index: number;
  readonly isForeign: boolean;
  /** Path values for the case that no resource is known. */
  readonly params: readonly unknown[];
  readonly query: Readonly<Record<string, unknown>>;
  /** The operation's header parameters. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
  /** The client's address, in `X-Forwarded-For`. */
  readonly address: string;
  readonly body: unknown;
}

export interface FuzzCase {
  readonly valid: ValidCase;
  readonly mutations: readonly Mutation[];
  /** Sends the valid form first, so that resources appear and disappear during the attack. */
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
  // Always the same bytes: one upload address accepts only one content.
  return fc.constantFrom(...(context.isPlain === true ? context.bytes.slice(0, 1) : context.bytes));
};

/** The sender of every second request. */
export const BUSY_ADDRESS = '192.0.2.1';

const clientAddress: fc.Arbitrary<string> = fc.oneof(
  fc.constant(BUSY_ADDRESS),
  // Without bias: the smallest numbers come so often that their address would be refused for what others sent.
  fc.noBias(fc.nat(65_535)).map((network) => `2001:db8:1:${network.toString(16)}::1`),
);

const queryValue = ({ name, required, schema }: Parameter, context: ValueContext): fc.Arbitrary<unknown> =>
  seldomUnless(required, context, validMember(name, schema, context, 0));

/** Any text that a header may contain, if the schema has no form. */
const headerValue = ({ name, required }: Parameter, context: ValueContext): fc.Arbitrary<unknown> => {
  const given = context.members[name];
  return seldomUnless(required, context, given === undefined ? headerText : fc.constantFrom(...given));
};

/** Includes an optional parameter in one of four requests. */
const seldomUnless = (
  isRequired: boolean,
  { isPlain }: ValueContext,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> => {
  if (isRequired) return value;
  const none = fc.constant(undefined);
  return isPlain === true ? none : fc.oneof({ weight: 3, arbitrary: none }, { weight: 1, arbitrary: value });
};

/** Mostly no key or a new key. Some keys repeat, with the same request and with others. */
const idempotencyKey = ({ takesIdempotencyKey }: Operation): fc.Arbitrary<string | undefined> =>
  takesIdempotencyKey
    ? fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.stringMatching(/^[A-Za-z0-9_.:-]{16,40}$/) },
        { weight: 2, arbitrary: fc.nat(30).map((number) => `fuzz-key-${String(number).padStart(8, '0')}`) },
      )
    : fc.constant(undefined);

/** Their success would end the sessions that the run uses: they are called without one. */
const ENDS_SESSIONS: ReadonlySet<string> = new Set(['signOut', 'endOtherSessions']);

/** A cookie counts only without a bearer credential. */
export const credentialHeaders = (
  { operationId, needsSession }: Pick<Operation, 'operationId' | 'needsSession'>,
  { authorization, cookie }: Pick<Credential, 'authorization' | 'cookie'>,
): Readonly<Record<string, string>> => {
  if (needsSession && cookie !== undefined && !ENDS_SESSIONS.has(operationId)) {
    return { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' };
  }
  return authorization === undefined ? {} : { Authorization: authorization };
};

/** The valid request, with its references replaced by known ids. */
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
  for (const [name, value] of Object.entries(credentialHeaders(operation, credential))) {
    headers.set(name, [value]);
  }
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
