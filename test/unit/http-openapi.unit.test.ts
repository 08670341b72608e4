import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openApiDocument, type ApiTexts } from '../../shared/http/openapi.ts';
import { route, type AnyRoute, type Route } from '../../shared/http/route.ts';
import { checkOpenApi } from '../support/check-openapi.ts';
import { toyRoutes } from '../support/toy-service.ts';

const integerParameter = (name: string, minimum: number, maximum?: number) => ({
  name,
  in: 'query',
  required: false,
  description: expect.any(String),
  schema: { type: 'integer', minimum, ...(maximum !== undefined && { maximum }) },
});

const texts: ApiTexts = {
  tags: { Toys: { description: 'Toys.' } },
  members: { name: 'Name.', id: 'Id.' },
  limits: { credential: { requests: 100, windowSeconds: 60 } },
};

const documentOf = (routes: readonly AnyRoute[]) =>
  openApiDocument(
    routes,
    { title: 'Toys', description: 'Toys of tests.', version: '1.2.3' },
    'https://exchange.test',
    texts,
  ) as {
    paths: Record<
      string,
      Record<string, { parameters: Record<string, unknown>[] } & Record<string, unknown>>
    >;
    components: { schemas: Record<string, unknown>; securitySchemes: unknown };
  };

describe('the OpenAPI document', () => {
  const document = documentOf(toyRoutes([]));

  it('is structurally valid', () => {
    expect(checkOpenApi(document)).toEqual([]);
  });

  it('describes every parameter', () => {
    expect(document.paths['/toys']?.['get']?.parameters).toEqual([
      integerParameter('take', 1, 200),
      integerParameter('skip', 0),
      integerParameter('limit', 1, 200),
      integerParameter('offset', 0),
      {
        name: 'archived',
        in: 'query',
        required: false,
        description: expect.any(String),
        schema: { type: 'boolean' },
      },
      {
        name: 'name',
        in: 'query',
        required: false,
        description: 'Name.',
        schema: { type: 'string', minLength: 1 },
      },
    ]);
    expect(document.paths['/toys/{id}']?.['get']?.parameters).toEqual([
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the toy.',
        schema: { type: 'integer', minimum: 1, maximum: 2147483647 },
      },
    ]);
  });

  it('describes rate-limit headers for counted routes only', () => {
    const reference = (name: string) => ({ $ref: `#/components/headers/${name}` });
    expect(document.paths['/toys']?.['get']).toMatchObject({
      responses: {
        200: {
          headers: {
            'RateLimit-Limit': reference('RateLimit-Limit'),
            'RateLimit-Remaining': reference('RateLimit-Remaining'),
            'RateLimit-Reset': reference('RateLimit-Reset'),
          },
        },
        429: { $ref: '#/components/responses/RateLimited' },
      },
    });
    const [first] = toyRoutes([]);
    const uncounted = documentOf(first === undefined ? [] : [{ ...first, path: '/assets/toys' }]);
    expect(JSON.stringify(uncounted.paths)).not.toMatch(/RateLimit|429/);
  });

  it('declares the idempotency key for writes, and a credential where one is required', () => {
    expect(document.paths['/toys']?.['post']).toMatchObject({
      security: [{ bearer: ['exchange:write'] }, { oauth: ['exchange:write'] }],
      parameters: [{ name: 'Idempotency-Key', in: 'header', required: false }],
      requestBody: { required: true },
    });
    expect(document.paths['/toys/newest']?.['get']).toMatchObject({ security: [], parameters: [] });
  });

  it('declares the cookie where only a signed-in person may ask, and lists handed-over routes', () => {
    const [first] = toyRoutes([]);
    const mine: Route[] = first === undefined ? [] : [{ ...first, path: '/mine', access: 'session' }];
    const listed = documentOf([
      ...mine,
      {
        method: 'get',
        path: '/authorize/{uid}',
        operationId: 'resumeAuthorization',
        summary: 'Goes on',
        tag: 'OAuth',
        access: 'public',
        errors: 'envelope',
        serve: () => undefined,
      },
    ]);
    expect(checkOpenApi(listed)).toEqual([]);
    expect(listed.paths['/mine']?.['get']).toMatchObject({ security: [{ session: [] }] });
    expect(listed.components.securitySchemes).toMatchObject({
      session: { type: 'apiKey', in: 'cookie', name: '__Host-sc_session' },
    });
    expect(listed.paths['/authorize/{uid}']?.['get']).toMatchObject({
      operationId: 'resumeAuthorization',
      parameters: [{ name: 'uid', in: 'path', required: true }],
      responses: {
        429: { $ref: '#/components/responses/RateLimited' },
      },
    });
    expect(listed.components.schemas['OAuthError']).toBeUndefined();
  });

  it('describes the envelope of every response', () => {
    expect(document.paths['/toys']?.['get']?.['responses']).toMatchObject({
      200: {
        content: {
          'application/json': {
            schema: {
              required: ['data', 'error', 'meta'],
              properties: {
                data: { type: 'array', items: { $ref: '#/components/schemas/Toy' } },
                error: { type: 'null' },
              },
            },
          },
        },
      },
      400: { $ref: '#/components/responses/BadRequestOrValidationError' },
      503: { $ref: '#/components/responses/ServiceUnavailable' },
    });
    expect(document.paths['/toys/{id}']?.['delete']?.['responses']).toMatchObject({
      204: { description: 'Archived' },
    });
  });

  it('refuses two different schemas or two operations with one id', () => {
    const withData = (operationId: string, data: z.ZodType): Route =>
      route({
        method: 'get',
        path: `/${operationId}`,
        operationId,
        summary: '',
        tag: '',
        access: 'public',
        responses: { 200: { description: '', data } },
        handle: async () => ({ status: 200, data: null }),
      });
    const one = withData('one', z.object({ a: z.string() }).meta({ id: 'UnitTestThing' }));
    expect(() => documentOf([one, one])).toThrow('one');
    const { UnitTestThing: thing } = documentOf([one]).components.schemas;
    expect(thing).toMatchObject({ properties: { a: { type: 'string' } } });
    const clash = {
      ...withData('two', z.object({ thing: z.object({ b: z.int() }).meta({ id: 'Pagination' }) })),
    };
    expect(() => documentOf([one, clash])).toThrow('Pagination');
  });
});
