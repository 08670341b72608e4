import { errorCodes, type ErrorCode } from './errors.ts';
import { errorsOfRoute } from './errors-of-route.ts';
import type { Json } from './json-schema.ts';
import type { AnyRoute } from './route.ts';

const seconds = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 1 } });
const text = (description: string): Json => ({ description, schema: { type: 'string' } });

/** `components.headers`. */
export const headerComponents: Json = {
  'RateLimit-Limit': {
    description: 'Requests that the window allows.',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in the window.',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Reset': seconds('Seconds until the window ends.'),
  'Retry-After': seconds('Seconds to wait before the request is repeated.'),
  'Idempotent-Replayed': {
    description: '`true`: this is the stored answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': text(
    'Which credential is needed (RFC 9110, 11.6.1), and where it can be had (RFC 9728, 5.1).',
  ),
  'Confirmation-Uid': text('Send it as the header of the same name with the repeated request, to confirm.'),
  'Confirmation-Expires': {
    description: 'Until when the confirmation is valid.',
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Request-Id': text('Id of the request, for questions to the operators.'),
};

export const headersNamed = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const RATE_LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

const headersOf: Readonly<Partial<Record<number, readonly string[]>>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: [...RATE_LIMIT_HEADERS, 'Retry-After'],
  503: ['Retry-After'],
};

/** E.g. `ConflictOrIdempotencyConflict`. */
const nameOf = (codes: readonly ErrorCode[]): string =>
  codes
    .map((code) =>
      code
        .split('_')
        .map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`)
        .join(''),
    )
    .join('Or');

/** Specification, Response envelope. */
export const errorEnvelopeOf = (codes: readonly ErrorCode[]): Json => ({
  type: 'object',
  required: ['data', 'error'],
  properties: {
    data: { type: 'null', description: 'Always null.' },
    error: {
      type: 'object',
      description: 'Why the request was refused or failed.',
      required: ['code', 'message'],
      properties: {
        code: {
          type: 'string',
          enum: codes,
          description: 'What kind of problem it is. Decide by it, not by the message.',
        },
        message: { type: 'string', description: 'What happened and what to do, for people.' },
        field: { type: 'string', description: 'Dotted path of the input at fault.' },
        details: { description: 'Further facts; their form depends on the code.' },
      },
    },
  },
});

const refusal = (status: number, codes: readonly ErrorCode[]): Json => ({
  description: codes
    .map((code) => `\`${code}\`: ${errorCodes[code].meaning} ${errorCodes[code].remedy}`)
    .join('\n\n'),
  headers: headersNamed([...(headersOf[status] ?? []), 'X-Request-Id']),
  content: {
    'application/json': {
      schema: errorEnvelopeOf(codes),
      example: { data: null, error: { code: codes[0], message: errorCodes[codes[0] as ErrorCode].meaning } },
    },
  },
});

/** @param components `components.responses`, which gets each set of codes once @returns a response for each status */
export const refusalsOf = (route: AnyRoute, components: Json): Json => {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOfRoute(route)) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const name = nameOf(codes);
      components[name] ??= refusal(status, codes);
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
};
