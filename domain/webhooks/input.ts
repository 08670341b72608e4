import { z } from 'zod';
import { publicKinds } from '../notifications/kinds.ts';
import { EventTypes } from '../notifications/matches.ts';
import { createInput, updateInput } from '../fields.ts';
import { boundedText, distinct, instant } from '../values.ts';
import { webhookFields } from './resource.ts';

const INT32_MAX = 2_147_483_647;

/** Without set bits after the last byte, which some decoders refuse. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
const KEY_BYTES_MIN = 16;

const isSigningKey = (secret: string): boolean => {
  if (!secret.startsWith('whsec_')) return true;
  const key = secret.slice('whsec_'.length);
  return BASE64.test(key) && Math.floor((key.replace(/=+$/, '').length * 3) / 4) >= KEY_BYTES_MIN;
};

export const SigningSecret = z
  .string()
  .regex(/^[\u0021-\u007e]{16,256}$/, 'must be 16 to 256 visible ASCII characters without spaces')
  .refine(isSigningKey, `must have at least ${KEY_BYTES_MIN} bytes in base64 after whsec_`)
  .optional()
  .meta({
    writeOnly: true,
    description:
      'Signs the deliveries. After `whsec_`, the key in base64; otherwise the characters are the key. Default: a new secret, shown in the answer only.',
  });

const inputsOf = (address: z.ZodType<string>) => ({
  url: address,
  eventTypes: EventTypes,
  advertiserIds: z.array(z.int().min(1).max(INT32_MAX)).min(1).max(100).overwrite(distinct),
  description: boundedText(1, 500),
});

/** @param address schema of an address that the service may connect to */
export const CreateWebhookBody = (address: z.ZodType<string>) =>
  z
    .object({ ...createInput(webhookFields, inputsOf(address)), secret: SigningSecret })
    .meta({ id: 'CreateWebhookSubscription' });

/** @param address schema of an address that the service may connect to */
export const UpdateWebhookBody = (address: z.ZodType<string>) =>
  z
    .object({
      ...updateInput(webhookFields, inputsOf(address)),
      status: z.enum(['active', 'inactive']).optional().meta({
        description:
          '`inactive`: pause, and deliveries wait for at most seven days. `active`: end a pause, or enable the subscription again after the service disabled it.',
      }),
    })
    .meta({ id: 'UpdateWebhookSubscription' });

const WEEK_SECONDS = 604_800;
const DAY_SECONDS = 86_400;

export const RotateSecretBody = z
  .object({
    secret: SigningSecret,
    overlapSeconds: z
      .int()
      .min(0)
      .max(WEEK_SECONDS)
      .default(DAY_SECONDS)
      .meta({ description: 'How long deliveries are also signed with the present secret.' }),
    force: z.boolean().default(false).meta({
      description: 'Rotate during the overlap of an earlier rotation, whose old secret is dropped.',
    }),
  })
  .meta({ id: 'RotateWebhookSecret' });

export const TestWebhookBody = z
  .object({ type: z.enum(publicKinds).meta({ description: 'Kind of the event. Its example is delivered.' }) })
  .meta({ id: 'TestWebhook' });

export const RecoverWebhookBody = z
  .object({ since: instant().meta({ description: 'At most 30 days ago.' }) })
  .meta({ id: 'RecoverWebhook' });

export const ReplayWebhookBody = z
  .object({
    since: instant().meta({ description: 'At most 30 days ago.' }),
    until: instant().optional().meta({ description: 'Not included. Default: now.' }),
    eventTypes: EventTypes.optional().meta({ description: 'Default: those of the subscription.' }),
  })
  .meta({ id: 'ReplayWebhook' });
