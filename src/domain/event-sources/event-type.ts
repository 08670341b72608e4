import { z } from 'zod';

/** What a conversion event can be: AdCP 3.0, enum event-type. `custom` goes with a name of the buyer's own. */
const eventTypes = [
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

export const EventType = z.enum(eventTypes);
export type EventType = z.infer<typeof EventType>;

/** Of an event that names none (decisions.md E14). */
export const DEFAULT_EVENT_TYPE: EventType = 'custom';
