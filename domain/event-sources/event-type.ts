import { z } from 'zod';

/** AdCP 3.0, enum event-type. `custom` has a name chosen by the buyer. */
const ofAdcp30 = [
  'page_view',
  'view_content',
  'select_content',
  'select_item',
  'search',
  'share',
  'add_to_cart',
  'remove_from_cart',
  'viewed_cart',
  'add_to_wishlist',
  'initiate_checkout',
  'add_payment_info',
  'purchase',
  'refund',
  'lead',
  'qualify_lead',
  'close_convert_lead',
  'disqualify_lead',
  'complete_registration',
  'subscribe',
  'start_trial',
  'app_install',
  'app_launch',
  'contact',
  'schedule',
  'donate',
  'submit_application',
  'custom',
] as const;

const later = ['follow', 'content_view', 'watch_milestone'] as const;

export const EventType = z.enum([...later, ...ofAdcp30]);
export type EventType = z.infer<typeof EventType>;

const inAdcp30: ReadonlySet<EventType> = new Set(ofAdcp30);

/** Types later than AdCP 3.0 become `custom`. */
export const adcp30TypesOf = (types: readonly EventType[]): EventType[] => [
  ...new Set(types.map((type) => (inAdcp30.has(type) ? type : 'custom'))),
];

export const DEFAULT_EVENT_TYPE: EventType = 'custom';
