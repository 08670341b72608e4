import { brokenRequests } from '../../shared/http/broken-request.ts';
import { errorCodes } from '../../shared/http/errors.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';

export const errorsPage = (): string =>
  pageOf(
    '# Errors',
    `Every error code of the API with its status, its meaning and what to do. ${GENERATED}`,
    'A refused or failed request answers in the envelope with `data: null`:',
    '```json\n' +
      JSON.stringify(
        {
          data: null,
          error: {
            code: 'VALIDATION_ERROR',
            message: 'The request body must contain name.',
            field: 'name',
          },
        },
        null,
        2,
      ) +
      '\n```',
    tableOf(
      ['member', 'meaning'],
      [
        ['`code`', 'One of the codes below. Decide by it, never by the message.'],
        ['`message`', 'A sentence for a developer. Its wording may change.'],
        ['`field`', 'Path of the input at fault, where one input is.'],
        ['`details`', 'More values for programs, e.g. every invalid input in `details.issues`.'],
      ],
    ),
    '## Codes',
    tableOf(
      ['code', 'status', 'meaning', 'what to do'],
      Object.entries(errorCodes).flatMap(([code, { status, meaning, remedy }]) =>
        [[String(status), meaning, remedy], ...otherStatusesOf(code, status)].map((row) => [
          `\`${code}\``,
          ...row,
        ]),
      ),
    ),
    '## Which requests may be repeated',
    'A status below 500 means that the request had no effect. After a 500, a 503 or a lost connection the outcome of a ' +
      'write is unknown: repeat it with the same `Idempotency-Key`, and it takes effect at most once. The answers 429 and 503 ' +
      'carry `Retry-After` in seconds.',
  );

/** Broken requests have statuses that their code does not have otherwise. */
const otherStatusesOf = (wanted: string, usual: number): readonly (readonly string[])[] =>
  Object.values(brokenRequests)
    .filter(([status, code]) => code === wanted && status !== usual)
    .map(([status, , message]) => [String(status), ...message.split(/(?<=[.]) /)]);
