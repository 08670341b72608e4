import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { SESSION_COOKIE } from './authenticate.ts';
import { describeMember, describeMembers, type MemberDescriptions } from './describe-members.ts';
import { addExamples } from './document-examples.ts';
import { errorCodes, type ErrorCode } from './errors.ts';
import type { Examples } from './examples.ts';
import { IDEMPOTENCY_KEY } from './idempotency-key.ts';
import { toJsonSchema, type Json } from './json-schema.ts';
import {
  errorEnvelopeOf,
  headerComponents,
  headersNamed,
  RATE_LIMIT_HEADERS,
  refusalsOf,
} from './openapi-refusals.ts';
import type { Limit } from '../limits/limits.ts';
import type { Scope } from './principal.ts';
import {
  limitOf,
  type AnyRoute,
  type HandedOverRoute,
  type ProtocolBody,
  type Route,
  type SuccessResponse,
} from './route.ts';

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output', components: Json): Json => {
  const { $defs = {}, $schema: _, id, ...root } = toJsonSchema(schema, io);
  const rename = (value: Json): Json =>
    JSON.parse(
      JSON.stringify(value).replaceAll(
        /"#\/\$defs\/([^"]+)"/g,
        (_reference, name: string) => `"#/components/schemas/${componentName(name, $defs[name])}"`,
      ),
    ) as Json;
  for (const [name, definition] of Object.entries($defs)) {
    const { id: _id, ...rest } = definition;
    addComponent(components, componentName(name, definition), rename(rest));
  }
  if (typeof id !== 'string') return rename(root);
  addComponent(components, id, rename(root));
  return { $ref: `#/components/schemas/${id}` };
};

/** zod numbers recursive schemas without an id. @throws Error for one that is not `z.json()` */
const componentName = (name: string, definition: Json | undefined): string => {
  if (!name.startsWith('__schema')) return name;
  const [jsonValue] = Object.entries(toJsonSchema(z.array(z.json()), 'input').$defs ?? {});
  const named = JSON.stringify(definition).replaceAll(`/${name}"`, `/${jsonValue?.[0]}"`);
  if (named !== JSON.stringify(jsonValue?.[1])) throw new Error('a recursive schema has no id');
  return 'JsonValue';
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
  description: 'Place of the page.',
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

const successHeaders = (route: AnyRoute, { headers = [] }: Pick<SuccessResponse, 'headers'>): Json => {
  const names = [
    ...(limitOf(route) === 'none' ? [] : RATE_LIMIT_HEADERS),
    ...('handle' in route && route.method !== 'get' ? ['Idempotent-Replayed'] : []),
    ...headers,
    'X-Request-Id',
  ];
  return headersNamed(names);
};

/** What a reader needs to know of every operation, in the same words. */
const descriptionOf = (route: AnyRoute): string => {
  const { access, description, summary } = route;
  const other = 'handle' in route ? route.otherAccess : undefined;
  const needed = {
    public: 'Needs no credential.',
    session: 'Needs the session cookie of a signed-in person.',
  }[access as string];
  const limit = limitOf(route);
  return [
    description ?? (summary.endsWith('.') ? summary : `${summary}.`),
    needed ?? `Needs the scope \`${access}\`${other === undefined ? '' : ` or \`${other}\``}.`,
    limit === 'none' ? 'No rate limit.' : `Counted by the limit \`${limit}\` (\`x-rate-limit\`).`,
    ...('handle' in route && route.method !== 'get'
      ? ['Repeat it safely with the same `Idempotency-Key`.']
      : []),
  ].join('\n\n');
};

/** The members that every operation has. */
const headOf = (route: AnyRoute, { tags, limits }: ApiTexts): Json => {
  const limit = limitOf(route);
  const guide = tags[route.tag]?.guide;
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: descriptionOf(route),
    tags: [route.tag],
    ...(guide !== undefined && { externalDocs: { description: `Guide: ${route.tag}`, url: guide } }),
    security: securityOf(route),
    ...(route.withAllBelow === true && { 'x-with-all-below': true }),
    ...(limit !== 'none' && { 'x-rate-limit': { name: limit, ...limits[limit] } }),
  };
};

const securityOf = ({
  access,
  otherAccess,
  uploadToken,
}: Pick<Route, 'access' | 'otherAccess' | 'uploadToken'>): readonly Json[] => {
  if (uploadToken === true) return [{ uploadToken: [] }];
  if (access === 'public') return [];
  if (access === 'session') return [{ session: [] }];
  return [access, otherAccess].flatMap((scope) =>
    scope === undefined ? [] : [{ bearer: [scope] }, { oauth: [scope] }],
  );
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

const handedOverOperation = (route: HandedOverRoute, { texts, components, refusals }: Building): Json => {
  const isOauth = route.errors === 'oauth';
  if (isOauth) addComponent(components, 'OAuthError', OAUTH_ERROR);
  return {
    ...headOf(route, texts),
    parameters: [
      ...pathParameters(route.path),
      ...parametersOf(route.query, 'query', components),
      ...parametersOf(route.headers, 'header', components),
    ],
    ...(route.sends === undefined
      ? {}
      : { requestBody: { content: protocolContent(route.sends, components) } }),
    responses: {
      [route.success === undefined ? '2XX' : 200]: {
        ...(route.success === undefined
          ? protocolAnswer(route, components)
          : successOf(route.success, components)),
        headers: successHeaders(route, route.success ?? {}),
      },
      ...(isOauth ? oauthRefusals(route) : refusalsOf(route, refusals)),
    },
  };
};

const protocolContent = ({ mediaType, schema }: ProtocolBody, components: Json): Json => ({
  [mediaType]: { schema: jsonSchema(schema, 'input', components) },
});

const protocolAnswer = ({ answers }: HandedOverRoute, components: Json): Json => ({
  description: 'What its protocol defines.',
  ...(answers !== undefined && { content: protocolContent(answers, components) }),
});

const oauthRefusals = (route: AnyRoute): Json => ({
  ...(limitOf(route) === 'none'
    ? {}
    : {
        429: {
          description: 'Too many requests in this window; nothing was done.',
          headers: headersNamed([...RATE_LIMIT_HEADERS, 'Retry-After']),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } },
        },
      }),
  default: { description: 'Refused, failed or redirected, as its protocol defines.' },
});

const operationOf = (route: Route, { texts, components, refusals }: Building): Json => ({
  ...headOf(route, texts),
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
        { ...successOf(response, components), headers: successHeaders(route, response) },
      ]),
    ),
    ...refusalsOf(route, refusals),
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

const webhookOf = (
  { name, summary, tag, headers, body, example }: WebhookDeclaration,
  components: Json,
): Json => ({
  post: {
    operationId: `receive${name.replaceAll(/(?:^|[^a-z]+)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    description: `${summary} The service sends it to the address of each subscription that wants it.`,
    tags: [tag],
    security: [],
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

/** What the routes do not say. */
export interface ApiTexts {
  readonly tags: Readonly<Record<string, TagText>>;
  readonly members: MemberDescriptions;
  readonly examples?: Examples;
  /** Keyed by name. */
  readonly limits: Readonly<Record<string, Limit>>;
}

export interface TagText {
  readonly description: string;
  /** Address of the guide. */
  readonly guide?: string;
}

export interface ApiInfo {
  readonly title: string;
  readonly description: string;
  readonly version: string;
}

interface Building {
  readonly texts: ApiTexts;
  readonly components: Json;
  /** `components.responses`. */
  readonly refusals: Json;
}

/**
 * @throws Error if an operation id or a schema id is not unique
 */
export const openApiDocument = (
  routes: readonly AnyRoute[],
  info: ApiInfo,
  baseUrl: string,
  texts: ApiTexts,
  webhooks: readonly WebhookDeclaration[] = [],
): Json => {
  const components: Json = {
    ErrorEnvelope: errorEnvelopeOf(Object.keys(errorCodes) as ErrorCode[]),
    Pagination: {
      type: 'object',
      required: ['skip', 'take', 'total', 'hasMore'],
      properties: {
        skip: { type: 'integer', minimum: 0 },
        take: { type: 'integer', minimum: 1 },
        total: { type: 'integer', minimum: 0 },
        hasMore: { type: 'boolean' },
      },
    },
  };
  const refusals: Json = {};
  const building = { texts, components, refusals };
  const paths: Record<string, Json> = {};
  const operationIds = new Set<string>();
  for (const route of routes) {
    if (operationIds.has(route.operationId))
      throw new Error(`two operations with the id ${route.operationId}`);
    operationIds.add(route.operationId);
    const operation = 'serve' in route ? handedOverOperation(route, building) : operationOf(route, building);
    paths[route.path] = { ...paths[route.path], [route.method]: operation };
  }
  addExamples(paths, texts.examples ?? {});
  const sent = Object.fromEntries(webhooks.map((one) => [one.name, webhookOf(one, components)]));
  const document = {
    openapi: '3.1.0',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: baseUrl, description: 'This service' }],
    tags: tagsOf(routes, texts),
    paths,
    ...(webhooks.length === 0 ? {} : { webhooks: sent }),
    components: {
      schemas: components,
      headers: headerComponents,
      responses: refusals,
      securitySchemes,
    },
  };
  describeDocument(document, texts.members);
  return document;
};

/** In the order of their first routes. */
const tagsOf = (routes: readonly AnyRoute[], { tags }: ApiTexts): readonly Json[] =>
  [...new Set(routes.map(({ tag }) => tag))].map((name) => {
    const { description, guide } = tags[name] ?? {};
    return {
      name,
      ...(description !== undefined && { description }),
      ...(guide !== undefined && { externalDocs: { url: guide } }),
    };
  });

export interface DescribedDocument {
  readonly paths: Readonly<Record<string, Json>>;
  readonly webhooks?: Readonly<Record<string, Json>>;
  readonly components: { readonly schemas: Json };
}

/** @returns members that have no description */
export const describeDocument = (
  { paths, webhooks = {}, components }: DescribedDocument,
  members: MemberDescriptions,
): readonly string[] => [
  ...Object.entries(components.schemas).flatMap(([name, schema]) => describeMembers(schema, name, members)),
  ...Object.entries({ ...paths, ...webhooks }).flatMap(([path, item]) =>
    Object.values(item).flatMap((operation) => describeOperation(operation as Json, path, members)),
  ),
];

interface WithContent {
  readonly content?: Readonly<Record<string, { readonly schema: unknown }>>;
}

const describeOperation = (operation: Json, path: string, members: MemberDescriptions): readonly string[] => {
  const { operationId = path } = operation as { readonly operationId?: string };
  const parameters = operation['parameters'] as readonly Json[];
  const contents = [
    operation['requestBody'] as WithContent | undefined,
    ...Object.values(operation['responses'] as Readonly<Record<string, WithContent>>),
  ];
  return [
    ...parameters.flatMap((one) => describeMember(one, String(one['name']), operationId, members)),
    ...contents
      .flatMap((one) => Object.values(one?.content ?? {}))
      .flatMap(({ schema }) => describeMembers(schema, operationId, members)),
  ];
};

const scopes: Readonly<Record<Scope, string>> = {
  'exchange:read': 'Read everything of the account but its credentials.',
  'exchange:write': 'Change everything of the account but its credentials and users.',
  'exchange:admin': 'Change users, credentials and settings of the account.',
  'exchange:review': 'Record what a seller decides about creatives.',
};

const securitySchemes: Json = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key (`bx_…`), which the account makes with `POST /api-keys`, or an access token of OAuth.',
  },
  oauth: {
    type: 'oauth2',
    description: 'OAuth 2.1 with PKCE: the access token is sent as a bearer token.',
    flows: {
      authorizationCode: { authorizationUrl: '/authorize', tokenUrl: '/auth/token', scopes },
    },
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: 'A signed-in person, in the pages of this service only.',
  },
  uploadToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'Part of the upload address that a reservation returns.',
  },
};
