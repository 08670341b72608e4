import { z } from 'zod';
import { EventType } from '../event-sources/event-type.ts';
import { boundedText } from '../values.ts';

const EVENTS_MAX = 10_000;

/** For OpenAPI only: `validate-items.ts` checks and refuses each item separately. */
const ConversionEvent = z.unknown().meta({
  id: 'ConversionEvent',
  type: 'object',
  required: ['eventId', 'eventTime'],
  properties: {
    eventId: { type: 'string', minLength: 1, maxLength: 256 },
    eventTime: { type: 'string', format: 'date-time', description: 'At most 90 days ago, 24 hours ahead.' },
    eventType: { type: 'string', enum: EventType.options, default: 'custom' },
    value: { type: 'number' },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    customEventName: { type: 'string', minLength: 1, maxLength: 256 },
    userMatch: { type: 'object', description: 'Hashed and opaque identifiers only.' },
    actionSource: { type: 'string' },
    eventSourceUrl: { type: 'string', maxLength: 2048 },
    orderId: { type: 'string', minLength: 1, maxLength: 256 },
    contentIds: { type: 'array', maxItems: 100, items: { type: 'string' } },
  },
});

export const LogConversionsBody = z
  .object({
    events: z.array(ConversionEvent).min(1).max(EVENTS_MAX),
    advertiserId: z.int().min(1).max(2_147_483_647).optional().meta({
      description: 'Needed where several advertisers have an event source of this key.',
    }),
    testEventCode: boundedText(1, 100).optional().meta({
      description: 'Validates the events without logging them or comparing them with earlier ones.',
    }),
    confirm: z.boolean().optional().meta({
      description:
        'false: previews the result, and returns a Confirmation-Uid to execute the call with. Default: true.',
    }),
    confirmationUid: boundedText(1, 100).optional().meta({
      description: 'Executes the previewed call, with `confirm: true`: once, within 15 minutes.',
    }),
  })
  .refine(({ confirm, confirmationUid }) => confirmationUid === undefined || confirm === true, {
    path: ['confirm'],
    error: 'must be true with a confirmationUid',
  })
  .meta({ id: 'LogConversions' });

export type LogConversionsBody = z.output<typeof LogConversionsBody>;
