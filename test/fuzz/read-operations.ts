/** The subset of JSON Schema (draft 2020-12) that OpenAPI documents like this service's use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
}

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly method: string;
  /** The document's path, e.g. `/things/{id}`. */
  readonly path: string;
  /** In path order. */
  readonly pathParameters: readonly Parameter[];
  readonly queryParameters: readonly Parameter[];
  /** Without the idempotency key. */
  readonly headerParameters: readonly Parameter[];
  readonly takesIdempotencyKey: boolean;
  /** Any of these scopes suffices for a key. Empty if the operation needs no key. */
  readonly scopes: readonly string[];
  /** Only a signed-in person may call it. */
  readonly needsSession: boolean;
  readonly body?: { readonly mediaType: string; readonly required: boolean; readonly schema: Schema };
  /** The declared statuses. All others are errors in the envelope. */
  readonly statuses: readonly number[];
  /** False for the few answers without the envelope and for those that are not JSON. */
  readonly isEnveloped: boolean;
  /** It also answers paths below its own. */
  readonly isWithAllBelow: boolean;
}

export interface ApiDocument {
  readonly operations: readonly Operation[];
  /** Follows references. A schema without a reference is returned as it is. */
  resolve(schema: Schema): Schema;
}

type Json = Readonly<Record<string, unknown>>;
interface RawParameter extends Parameter {
  readonly in: string;
}
interface RawOperation {
  readonly 'x-with-all-below'?: boolean;
  readonly operationId: string;
  readonly security?: readonly {
    readonly bearer?: readonly string[];
    readonly session?: readonly string[];
  }[];
  readonly parameters?: readonly RawParameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}
interface Media {
  readonly schema?: Schema;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Reads a service's `/openapi.json`. */
export const readOperations = async (baseUrl: string): Promise<ApiDocument> => {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, RawOperation>>;
  };
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : resolve(lookUp(document, schema.$ref));
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      methods.includes(method) && !isOfProtocol(operation)
        ? [readOperation(path, method, operation, resolve)]
        : [],
    ),
  );
  return { operations, resolve };
};

/** Its answers have the forms of OAuth, whose attacks are in `oauth-attacks.e2e.test.ts`. */
const isOfProtocol = ({ responses }: RawOperation): boolean => '2XX' in responses;

const lookUp = (document: Json, reference: string): Schema =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((at, name) => (at as Json)[name], document) as Schema;

const readOperation = (
  path: string,
  method: string,
  operation: RawOperation,
  resolve: ApiDocument['resolve'],
): Operation => {
  const { operationId, parameters = [], security = [], requestBody, responses } = operation;
  const place = (where: string): readonly RawParameter[] => parameters.filter((one) => one.in === where);
  const named = new Map(place('path').map((parameter) => [parameter.name, parameter]));
  const [media] = Object.entries(requestBody?.content ?? {});
  const statuses = Object.keys(responses).map(Number).filter(Number.isInteger);
  const success = responses[String(statuses.find((status) => status < 300))]?.content;
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    pathParameters: parameterNamesOf(path).map(
      (name) => named.get(name) ?? { name, required: true, schema: { type: 'string', minLength: 1 } },
    ),
    queryParameters: place('query'),
    headerParameters: place('header').filter(({ name }) => !isIdempotencyKey(name)),
    takesIdempotencyKey: parameters.some(({ name }) => isIdempotencyKey(name)),
    scopes: security.flatMap(({ bearer = [] }) => bearer),
    needsSession: security.some(({ session }) => session !== undefined),
    ...(media === undefined
      ? {}
      : {
          body: {
            mediaType: media[0],
            required: requestBody?.required ?? false,
            schema: media[1].schema ?? {},
          },
        }),
    statuses,
    isEnveloped: success === undefined || isEnvelope(success['application/json']?.schema, resolve),
    isWithAllBelow: operation['x-with-all-below'] === true,
  };
};

const isIdempotencyKey = (name: string): boolean => name.toLowerCase() === 'idempotency-key';

/** True if the body is bytes instead of JSON. */
export const takesBytes = ({ body }: Operation): boolean => body?.mediaType === 'application/octet-stream';

/** The parameter names of a path, in order. */
export const parameterNamesOf = (path: string): readonly string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

const isEnvelope = (schema: Schema | undefined, resolve: ApiDocument['resolve']): boolean => {
  const { properties } = schema === undefined ? {} : resolve(schema);
  return properties !== undefined && 'data' in properties && 'error' in properties;
};
