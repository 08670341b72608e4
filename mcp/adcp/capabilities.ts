import { z } from 'zod';
import { reads } from '../tool.ts';
import { commonInput, type AdcpTask } from './task.ts';

const Asked = z.looseObject({ protocols: z.array(z.string()).optional() });

export const ADCP_MAJOR = 3;

export const capabilitiesTask = (): AdcpTask => ({
  name: 'get_adcp_capabilities',
  title: 'What this agent offers',
  description:
    'AdCP: the versions, protocols and features of this agent. It sells nothing itself: it asks the sellers that are ' +
    'connected to the exchange. It has get_products and get_media_buy_delivery, and no task that changes something.',
  scope: 'exchange:read',
  annotations: reads,
  input: z.looseObject({ protocols: z.array(z.string()).optional(), ...commonInput }),
  run: async (given) => {
    const { protocols = ['media_buy'] } = Asked.parse(given);
    return {
      adcp: {
        major_versions: [ADCP_MAJOR],
        // No task changes something, so there is nothing to do twice.
        idempotency: { supported: false },
      },
      supported_protocols: ['media_buy'],
      ...(protocols.includes('media_buy') && {
        media_buy: { features: { property_list_filtering: false, catalog_management: false } },
      }),
    };
  },
});
