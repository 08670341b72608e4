import { z } from 'zod';
import { Channel } from '../advertisers/resource.ts';
import { agentFields } from '../agents/resource.ts';
import { changeable, clearable, derived, membersOf, resourceShape } from '../fields.ts';

export const sellerFields = {
  sellerId: derived(z.int().min(1).max(2_147_483_647)),
  name: changeable(z.string()),
  logoUrl: clearable(z.string()),
  // Empty: all channels.
  channels: changeable(z.array(Channel)),
};

export const SellerResource = z.strictObject(resourceShape(sellerFields)).meta({ id: 'Seller' });
export type SellerResource = z.infer<typeof SellerResource>;

const SellerAgent = z.object({
  url: z.string(),
  protocol: agentFields.protocol.recorded,
  /** Refers to the encrypted token; absent for an agent without one. */
  secretId: z.uuid().optional(),
});
export type SellerAgent = z.infer<typeof SellerAgent>;

export const Seller = z.object({
  ...SellerResource.shape,
  /** Not listed, and accepts no more creatives. Its reviews stay. */
  retired: z.boolean(),
  /** The AdCP agent that proposals are requested from. Never shown to accounts. */
  agent: SellerAgent.optional(),
});
export type Seller = z.infer<typeof Seller>;

export const sellerResource = (seller: Seller): SellerResource => membersOf(SellerResource, seller);

type Channels = readonly z.infer<typeof Channel>[];

/** An empty list, on either side, stands for all channels. */
export const sellsIn = ({ channels, retired }: Seller, wanted: Channels): boolean =>
  !retired &&
  (channels.length === 0 || wanted.length === 0 || channels.some((channel) => wanted.includes(channel)));

/** For trials, without a real company. */
export const builtInSellers: readonly Seller[] = [
  { sellerId: 1, name: 'Sandbox Web', channels: ['display', 'olv', 'social', 'search'], retired: false },
  { sellerId: 2, name: 'Sandbox TV', channels: ['ctv', 'linear_tv', 'olv'], retired: false },
  { sellerId: 3, name: 'Sandbox Audio', channels: ['radio', 'streaming_audio', 'podcast'], retired: false },
];

export type SellerDirectory = readonly Seller[];

export const withSellers = (before: SellerDirectory, sellers: readonly Seller[]): SellerDirectory =>
  [...new Map([...before, ...sellers].map((seller) => [seller.sellerId, seller])).values()].sort(
    (a, b) => a.sellerId - b.sellerId,
  );
