import { z } from 'zod';
import { boundedText, instant, listOf } from '../values.ts';
import { Role, Scope } from './access.ts';
import { EmailAddress } from './address.ts';
import { browserOriginOf } from './browser-origins.ts';

export const CreateApiKeyBody = z
  .object({
    name: boundedText(1, 120),
    scopes: listOf(Scope, 30)
      .min(1)
      .optional()
      .meta({ description: "Default: all that the user's role allows." }),
    expiresAt: instant()
      .transform((epochMs) => new Date(epochMs).toISOString())
      .optional()
      .meta({ description: 'The key is refused from then on. Default: never.' }),
  })
  .meta({ id: 'CreateApiKey' });

const ORIGIN_LENGTH_MAX = 300;

export const RegisterBrowserOriginBody = z
  .object({
    origin: z
      .string()
      .max(ORIGIN_LENGTH_MAX)
      .transform((text, context) => {
        const origin = browserOriginOf(text);
        if (origin !== undefined) return origin;
        const message = 'must be an origin like https://app.example.com, without a path';
        context.issues.push({ code: 'custom', message, input: text });
        return z.NEVER;
      })
      .meta({
        type: 'string',
        pattern: '^https?://[^/?#@]+$',
        description: 'Scheme, host and port; `http` only for this machine, outside production.',
      }),
    label: boundedText(1, 120).optional(),
  })
  .meta({ id: 'RegisterBrowserOrigin' });

export const InviteBody = z.object({ email: EmailAddress, role: Role }).meta({ id: 'Invite' });

export const ChangeRoleBody = z.object({ role: Role }).meta({ id: 'ChangeRole' });
