import { z } from 'zod';
import { boundedText } from '../values.ts';

const INT32_MAX = 2_147_483_647;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

const measure = (description: string) =>
  z
    .int()
    .min(0)
    .max(INT32_MAX)
    .optional()
    .meta({ description: `${description}. The measures found in the bytes take precedence.` });

const lowerCase = (text: string): string => text.toLowerCase();

export const ReserveUploadBody = z
  .object({
    name: boundedText(1, 255),
    mimeType: z
      .string()
      .max(127)
      .transform(lowerCase)
      .pipe(z.string().regex(MEDIA_TYPE, 'must be a media type without parameters, e.g. image/png')),
    bytes: z.int().min(1).max(INT32_MAX).optional().meta({ description: 'The exact size of the upload.' }),
    sha256: z
      .string()
      .regex(/^[0-9A-Fa-f]{64}$/, 'must be 64 hexadecimal digits')
      .transform(lowerCase)
      .optional()
      .meta({ description: 'SHA-256 of the bytes: other bytes are refused.' }),
    width: measure('Pixels'),
    height: measure('Pixels'),
    durationMs: measure('Milliseconds'),
  })
  .meta({ id: 'ReserveUpload' });
export type ReserveUploadBody = z.output<typeof ReserveUploadBody>;
