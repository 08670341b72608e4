import { z } from 'zod';
import { createInput } from '../fields.ts';
import { boundedText, foreignCredential } from '../values.ts';
import { agentFields } from './resource.ts';

/** @param address schema of an address that the service may connect to */
export const registerAgentBody = (address: z.ZodType<string>) =>
  z
    .object({
      ...createInput(agentFields, {
        name: boundedText(1, 200),
        url: address,
        accountId: boundedText(1, 255).optional().meta({
          description:
            "The buyer's account at the agent. Without it the agent receives the advertiser's brand.",
        }),
      }),
      auth: z.object({ type: z.literal('bearer'), token: foreignCredential() }).optional(),
    })
    .meta({ id: 'RegisterAdcpAgent' });
