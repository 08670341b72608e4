import { z } from 'zod';
import { boundedText, foreignCredential } from '../values.ts';

export const ConnectEngineBody = z
  .object({
    apiKey: foreignCredential(z.string().trim()).meta({
      writeOnly: true,
      description: "The buyer's own key for the engine. It is stored encrypted and never shown.",
    }),
    connectionId: boundedText(1, 255).optional().meta({
      description: 'The live connection whose key is replaced. Default: the live one, or a new one.',
    }),
  })
  .meta({ id: 'ConnectCreativeEngine' });

export const MapAccountBody = z
  .object({ advertiserId: z.int().min(1).max(2_147_483_647) })
  .meta({ id: 'MapCreativeEngineAccount' });
