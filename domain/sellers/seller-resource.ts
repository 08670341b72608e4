import { z } from 'zod';
import { Channel } from '../advertisers/advertiser-resource.ts';

/** A seller as the API shows it (decisions.md section 2). Without channels it sells in all of them. */
export const SellerResource = z
  .strictObject({
    sellerId: z.int().min(1).max(2_147_483_647),
    name: z.string(),
    logoUrl: z.string().optional(),
    channels: z.array(Channel),
  })
  .meta({ id: 'Seller' });
export type SellerResource = z.infer<typeof SellerResource>;

/** A seller as the directory knows it. */
export const Seller = z.object({
  ...SellerResource.shape,
  /** It takes no more creatives and is not listed; what it has said of some stays. */
  retired: z.boolean(),
});
export type Seller = z.infer<typeof Seller>;

export const sellerResource = ({ retired: _retired, ...shown }: Seller): SellerResource => shown;

type Channels = readonly z.infer<typeof Channel>[];

/** Whether a seller sells in a channel that is wanted. None, on either side, stands for all. */
export const sellsIn = ({ channels, retired }: Seller, wanted: Channels): boolean =>
  !retired &&
  (channels.length === 0 || wanted.length === 0 || channels.some((channel) => wanted.includes(channel)));

/** Sellers that are there from the beginning, to try everything on: nobody stands behind them. */
export const builtInSellers: readonly Seller[] = [
  { sellerId: 1, name: 'Sandbox Web', channels: ['display', 'olv', 'social', 'search'], retired: false },
  { sellerId: 2, name: 'Sandbox TV', channels: ['ctv', 'linear_tv', 'olv'], retired: false },
  { sellerId: 3, name: 'Sandbox Audio', channels: ['radio', 'streaming_audio', 'podcast'], retired: false },
];

/** By id. */
export type SellerDirectory = readonly Seller[];

/** The directory with what is known of some of its sellers by now. */
export const withSellers = (before: SellerDirectory, sellers: readonly Seller[]): SellerDirectory =>
  [...new Map([...before, ...sellers].map((seller) => [seller.sellerId, seller])).values()].sort(
    (a, b) => a.sellerId - b.sellerId,
  );
