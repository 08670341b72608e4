import { z } from 'zod';
import { PROTECTED_RESOURCE_PATH } from './challenge.ts';
import { frontPageRoute, type FrontPageOptions } from './front-page.ts';
import { openApiDocument, type ApiTexts, type WebhookDeclaration } from './openapi.ts';
import { route, type AnyRoute, type Route } from './route.ts';

export interface DocumentRoutesOptions extends FrontPageOptions {
  /** Part of operation ids, e.g. `Orders`. */
  readonly apiName: string;
  /** Markdown, for agents. */
  readonly skill: (baseUrl: string) => string;
  /** As https://llmstxt.org describes. */
  readonly llms: (baseUrl: string) => string;
  readonly resources: readonly DocumentedResource[];
  readonly texts: (baseUrl: string) => ApiTexts;
  readonly webhooks?: (baseUrl: string) => readonly WebhookDeclaration[];
}

export interface DocumentedResource {
  readonly path: string;
  readonly operationId: string;
  /** Clients ask for these if no challenge says otherwise. */
  readonly scopes: readonly string[];
}

const tag = 'Documents';

export const documentRoutes = (
  options: DocumentRoutesOptions,
  otherRoutes: readonly AnyRoute[],
): readonly Route[] => {
  const { title, description, version, baseUrl, apiPath, apiName } = options;
  let document: Record<string, unknown> | undefined;
  let yaml: string | undefined;
  const openApi = (): Record<string, unknown> =>
    (document ??= openApiDocument(
      [...otherRoutes, ...routes],
      { title, version, description },
      baseUrl(),
      options.texts(baseUrl()),
      options.webhooks?.(baseUrl()),
    ));
  const openApiYaml = async (): Promise<string> => (yaml ??= await yamlOf(openApi()));
  const skill = (): string => options.skill(baseUrl());
  const routes: Route[] = [
    route({
      method: 'get',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      summary: 'This API as an OpenAPI 3.1 document',
      tag,
      access: 'public',
      responses: { 200: { description: 'OpenAPI 3.1', data: z.looseObject({}), enveloped: false } },
      handle: async () => ({ status: 200, data: openApi() }),
    }),
    yamlRoute('/openapi.yaml', 'getOpenApiYaml', openApiYaml),
    yamlRoute(`${apiPath}/openapi.yaml`, `get${apiName}OpenApiYaml`, openApiYaml),
    textRoute('/skill.md', 'getSkill', skillSummary, 'text/markdown', skill),
    textRoute(`${apiPath}/skill.md`, `get${apiName}Skill`, skillSummary, 'text/markdown', skill),
    textRoute('/llms.txt', 'getLlms', 'Where a model finds what', 'text/plain', () =>
      options.llms(baseUrl()),
    ),
    ...options.resources.map((resource) => metadataRoute(resource, options)),
  ];
  routes.unshift(frontPageRoute(options, [...routes, ...otherRoutes]));
  return routes;
};

/** Many OpenAPI readers cannot follow YAML aliases. */
const yamlOf = async (document: unknown): Promise<string> => {
  const { stringify } = await import('yaml');
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
};

const yamlRoute = (path: string, operationId: string, document: () => Promise<string>): Route =>
  route({
    method: 'get',
    path,
    operationId,
    summary: 'The same document as /openapi.json, in YAML',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'OpenAPI 3.1', mediaType: 'application/yaml' } },
    handle: async () => ({ status: 200, text: await document(), contentType: 'application/yaml' }),
  });

const skillSummary = 'How to use this API, for an agent';

const textRoute = (
  path: string,
  operationId: string,
  summary: string,
  mediaType: string,
  text: () => string,
): Route =>
  route({
    method: 'get',
    path,
    operationId,
    summary,
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: summary, mediaType } },
    handle: async () => ({ status: 200, text: text(), contentType: `${mediaType}; charset=utf-8` }),
  });

/** RFC 9728, section 2. */
const ProtectedResource = z
  .object({
    resource: z.string(),
    authorization_servers: z.array(z.string()),
    resource_name: z.string(),
    resource_documentation: z.string(),
    bearer_methods_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
  })
  .meta({ id: 'ProtectedResource' });

const metadataRoute = (
  { path, operationId, scopes }: DocumentedResource,
  { title, baseUrl }: DocumentRoutesOptions,
): Route =>
  route({
    method: 'get',
    path: `${PROTECTED_RESOURCE_PATH}${path}`,
    operationId,
    summary: 'What a client needs to know to get a credential for this API (RFC 9728)',
    tag,
    access: 'public',
    anyOrigin: true,
    responses: {
      200: { description: 'Protected resource metadata', data: ProtectedResource, enveloped: false },
    },
    handle: async () => ({
      status: 200,
      data: {
        resource: `${baseUrl()}${path}`,
        authorization_servers: [new URL(baseUrl()).origin],
        resource_name: title,
        resource_documentation: `${baseUrl()}/skill.md`,
        bearer_methods_supported: ['header'],
        scopes_supported: scopes,
      },
    }),
  });
