import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { SESSION_COOKIE } from './authenticate.ts';
import { errorCodes } from './errors.ts';
import { IDEMPOTENCY_KEY } from './idempotency-key.ts';
import { toJsonSchema, type Json } from './json-schema.ts';
import { limitOf, type AnyRoute, type HandedOverRoute, type Route, type SuccessResponse } from './route.ts';

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output', components: Json): Json => {
  const { $defs, $schema: _, id, ...root } = toJsonSchema(schema, io);
  const rename = (value: Json): Json =>
    JSON.parse(JSON.stringify(value).replaceAll('#/$defs/', '#/components/schemas/')) as Json;
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const { id: _id, ...rest } = definition;
    addComponent(components, name, rename(rest));
  }
  if (typeof id !== 'string') return rename(root);
  addComponent(components, id, rename(root));
  return { $ref: `#/components/schemas/${id}` };
};

/** @throws Error if two different schemas share an id */
const addComponent = (components: Json, name: string, schema: Json): void => {
  const known = components[name];
  if (known !== undefined && !isDeepStrictEqual(known, schema))
    throw new Error(`two schemas with the id ${name}`);
  components[name] = schema;
};

export const parameterNames = (schema: z.ZodType | undefined): readonly string[] => {
  if (schema === undefined) return [];
  // Converting each schema would take a tenth of the processor time of a start.
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return Object.keys((jsonSchema(schema, 'input', {})['properties'] as Json | undefined) ?? {});
};

/** OpenAPI describes the header `Accept` by the media types of the answers. */
const parametersOf = (
  schema: z.ZodType | undefined,
  where: 'path' | 'query' | 'header',
  components: Json,
): Json[] => {
  if (schema === undefined) return [];
  const object = jsonSchema(schema, 'input', components);
  const required = new Set((object['required'] as string[] | undefined) ?? []);
  return Object.entries((object['properties'] as Record<string, Json> | undefined) ?? {})
    .filter(([name]) => name !== 'accept')
    .map(([name, { description, ...member }]) => ({
      name,
      in: where,
      required: where === 'path' || required.has(name),
      ...(description === undefined ? {} : { description }),
      schema: member,
    }));
};

const pagination: Json = {
  type: 'object',
  required: ['pagination'],
  properties: { pagination: { $ref: '#/components/schemas/Pagination' } },
};

const successOf = (
  { description, data, mediaType, otherMediaType, paginated, enveloped }: SuccessResponse,
  components: Json,
): Json => {
  if (mediaType !== undefined) {
    return { description, content: { [mediaType]: { schema: { type: 'string' } } } };
  }
  if (data === undefined) return { description };
  const content = jsonSchema(data, 'output', components);
  const schema =
    enveloped === false
      ? content
      : {
          type: 'object',
          required: ['data', 'error', ...(paginated === true ? ['meta'] : [])],
          properties: {
            data: content,
            error: { type: 'null' },
            ...(paginated === true ? { meta: pagination } : {}),
          },
        };
  const other = otherMediaType === undefined ? {} : { [otherMediaType]: { schema: { type: 'string' } } };
  return { description, content: { 'application/json': { schema }, ...other } };
};

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Repeats of a request with the same key have one effect and one answer, for 24 hours.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
};

const requestBodyOf = (body: z.ZodType, components: Json): Json => ({
  required: !body.safeParse({}).success,
  content: { 'application/json': { schema: jsonSchema(body, 'input', components) } },
});

const bytesBody: Json = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};

const seconds = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 1 } });

const rateLimitHeaders: Json = {
  'RateLimit-Limit': { description: 'Requests that the window allows.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in it.', schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Reset': seconds('Seconds until the window ends.'),
};

const headerReferences: Json = Object.fromEntries(
  Object.keys(rateLimitHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

const isCounted = (route: AnyRoute): boolean => limitOf(route) !== 'none';

const securityOf = ({ access, otherAccess }: Pick<Route, 'access' | 'otherAccess'>): readonly Json[] => {
  if (access === 'public') return [];
  if (access === 'session') return [{ session: [] }];
  return [access, otherAccess].flatMap((scope) => (scope === undefined ? [] : [{ bearer: [scope] }]));
};

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const OAUTH_ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

const handedOverOperation = (route: HandedOverRoute, components: Json): Json => {
  const isOauth = route.errors === 'oauth';
  if (isOauth) addComponent(components, 'OAuthError', OAUTH_ERROR);
  const error = isOauth ? 'OAuthError' : 'ErrorEnvelope';
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    security: securityOf(route),
    parameters: [
      ...pathParameters(route.path),
      ...parametersOf(route.query, 'query', components),
      ...parametersOf(route.headers, 'header', components),
    ],
    responses: {
      [route.success === undefined ? '2XX' : 200]: {
        ...(route.success === undefined
          ? { description: 'What its protocol defines.' }
          : successOf(route.success, components)),
        ...(isCounted(route) ? { headers: headerReferences } : {}),
      },
      ...(isCounted(route) ? { 429: rateLimited(error) } : {}),
      default: isOauth
        ? { description: 'Refused, failed or redirected, as its protocol defines.' }
        : { $ref: '#/components/responses/Refused' },
    },
  };
};

const operationOf = (route: Route, components: Json): Json => ({
  operationId: route.operationId,
  summary: route.summary,
  tags: [route.tag],
  security: securityOf(route),
  parameters: [
    ...parametersOf(route.params, 'path', components),
    ...parametersOf(route.query, 'query', components),
    ...parametersOf(route.headers, 'header', components),
    ...(route.method === 'get' ? [] : [idempotencyKey]),
  ],
  ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route.body, components) }),
  ...(route.receive === undefined ? {} : { requestBody: bytesBody }),
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, response]) => [
        status,
        { ...successOf(response, components), ...(isCounted(route) ? { headers: headerReferences } : {}) },
      ]),
    ),
    ...(isCounted(route) ? { 429: { $ref: '#/components/responses/RateLimited' } } : {}),
    default: { $ref: '#/components/responses/Refused' },
  },
});

/** A request that the service sends: OpenAPI's `webhooks`. */
export interface WebhookDeclaration {
  /** Unique. */
  readonly name: string;
  readonly summary: string;
  readonly tag: string;
  readonly headers: z.ZodType;
  readonly body: z.ZodType;
  readonly example: unknown;
}

const webhookOf = ({ summary, tag, headers, body, example }: WebhookDeclaration, components: Json): Json => ({
  post: {
    summary,
    tags: [tag],
    parameters: parametersOf(headers, 'header', components),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: jsonSchema(body, 'output', components), example } },
    },
    responses: {
      '2XX': { description: 'Received. Any other answer is a failure, after which it is sent again.' },
    },
  },
});

const rateLimited = (error: string): Json => ({
  description:
    'Too many requests in this window, or too many uploads under way (`details.reason`); nothing was done.',
  headers: {
    ...headerReferences,
    'Retry-After': seconds('Seconds to wait. For a window, the same as RateLimit-Reset.'),
  },
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${error}` } } },
});

const errorEnvelope: Json = {
  type: 'object',
  required: ['data', 'error'],
  properties: {
    data: { type: 'null' },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(errorCodes) },
        message: { type: 'string' },
        field: { type: 'string', description: 'Dotted path of the input at fault.' },
        details: {},
      },
    },
  },
};

/** @throws Error if an operation id or a schema id is not unique */
export const openApiDocument = (
  routes: readonly AnyRoute[],
  info: { readonly title: string; readonly description: string; readonly version: string },
  baseUrl: string,
  webhooks: readonly WebhookDeclaration[] = [],
): Json => {
  const components: Json = {
    ErrorEnvelope: errorEnvelope,
    Pagination: {
      type: 'object',
      required: ['skip', 'take', 'total', 'hasMore'],
      properties: {
        skip: { type: 'integer' },
        take: { type: 'integer' },
        total: { type: 'integer' },
        hasMore: { type: 'boolean' },
      },
    },
  };
  const paths: Record<string, Json> = {};
  const operationIds = new Set<string>();
  for (const route of routes) {
    if (operationIds.has(route.operationId))
      throw new Error(`two operations with the id ${route.operationId}`);
    operationIds.add(route.operationId);
    const operation =
      'serve' in route ? handedOverOperation(route, components) : operationOf(route, components);
    paths[route.path] = { ...paths[route.path], [route.method]: operation };
  }
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: baseUrl }],
    paths,
    ...(webhooks.length === 0
      ? {}
      : { webhooks: Object.fromEntries(webhooks.map((one) => [one.name, webhookOf(one, components)])) }),
    components: {
      schemas: components,
      headers: rateLimitHeaders,
      responses: {
        RateLimited: rateLimited('ErrorEnvelope'),
        Refused: {
          description: 'Refused or failed; nothing was changed unless the code is SERVICE_UNAVAILABLE.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } },
        },
      },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key or an OAuth access token.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: 'A signed-in person, in the pages of this service only.',
        },
      },
    },
  };
};
