import { z } from 'zod';
import { ReviewCreativeBody } from '../command/creatives/creative-input.ts';
import { reviewForSeller } from '../command/creatives/review-creative.ts';
import { loadDirectory } from '../command/sellers/directory.ts';
import { addSeller, changeSeller, SellerInput } from '../command/sellers/manage-sellers.ts';
import type { Backbone } from '../composition.ts';
import type { Seller } from '../domain/sellers/seller-resource.ts';
import { systemClock } from '../shared/clock.ts';
import { createSnapshotStore } from '../shared/command/snapshots.ts';
import { defined } from '../shared/defined.ts';
import { randomId } from '../shared/ids.ts';
import { createLog } from '../shared/log.ts';
import { idOf, line, read, WordsError, type Given, type Work } from './words.ts';

/** The operator's commands on sellers, and what sellers say of creatives: from words to words. */

export const sellerUsage = `  sellers list [--json]                  Lists the directory, retired sellers too.
  sellers add --name NAME [--channels CHANNEL,...] [--logo-url URL] [--json]
                                         Adds a seller to the directory; without channels it sells in all.
  sellers change SELLER [--name NAME] [--channels CHANNEL,...] [--logo-url URL] [--json]
  sellers retire|reopen SELLER           It takes no more creatives, or takes them again.
  creatives review ACCOUNT CREATIVE SELLER --status STATUS [--reason TEXT] [--revision N] [--json]
                                         Enters what a seller has decided of a creative, as of that revision of it:
                                         with approved it has to be said.
`;

export const sellerOptions = {
  channels: { type: 'string' },
  'logo-url': { type: 'string' },
  status: { type: 'string' },
  reason: { type: 'string' },
  revision: { type: 'string' },
} as const;

/** The work of `words`; undefined when they name none of these commands. */
export const sellerCommand = (
  command: string,
  [first, second, third]: readonly string[],
  given: Given,
): Work | undefined => {
  switch (command) {
    case 'sellers list':
      return async function* (backbone) {
        for (const seller of await loadDirectory(backbone)) yield sellerLine(given, seller);
      };
    case 'sellers add': {
      const seller = read(SellerInput, { ...membersOf(given), channels: channelsOf(given) ?? [] });
      return sellerWork(given, (writes) => addSeller(writes, seller));
    }
    case 'sellers change': {
      const changes = read(SellerInput.partial(), membersOf(given));
      return changeWork(first, given, changes);
    }
    case 'sellers retire':
    case 'sellers reopen':
      return changeWork(first, given, { retired: command === 'sellers retire' });
    case 'creatives review':
      return reviewWork(idOf('ACCOUNT', first), second ?? '', idOf('SELLER', third), given);
    default:
      return undefined;
  }
};

const channelsOf = ({ channels }: Given) => channels?.split(',').map((channel) => channel.trim());

const membersOf = (given: Given) =>
  defined({ name: given.name, logoUrl: given['logo-url'], channels: channelsOf(given) });

const sellerLine = (given: Given, seller: Seller): string => {
  const { sellerId, name, channels, retired } = seller;
  return line(
    given,
    seller,
    `${sellerId} ${name}${retired ? ' (retired)' : ''}: ${channels.join(', ') || 'all channels'}`,
  );
};

type Writes = Parameters<typeof addSeller>[0];

const sellerWork = (given: Given, work: (writes: Writes) => Promise<Seller>): Work =>
  async function* ({ store }) {
    yield sellerLine(given, await work({ store, clock: systemClock }));
  };

const changeWork = (
  word: string | undefined,
  given: Given,
  changes: Parameters<typeof changeSeller>[2],
): Work => {
  const sellerId = idOf('SELLER', word);
  return sellerWork(given, (writes) => changeSeller(writes, sellerId, changes));
};

const Revision = z.coerce.number().optional();

const reviewWork = (customerId: number, creativeId: string, sellerId: number, given: Given): Work => {
  const { status, reason: rejectionReason } = given;
  const expectedRevision = read(Revision, given.revision);
  if (status === 'approved' && expectedRevision === undefined) {
    throw new WordsError(
      '--revision is needed with --status approved: the revision that the seller has looked at',
    );
  }
  const body = read(ReviewCreativeBody, { status, rejectionReason, expectedRevision });
  return async function* ({ store, pool }: Backbone) {
    const commandId = randomId();
    const context = { commandId, customerId, actor: 'operator', requestId: commandId };
    const stores = { store, snapshots: createSnapshotStore(pool, createLog('silent')), clock: systemClock };
    const review = await reviewForSeller(stores, creativeId, sellerId, body, context);
    yield line(given, review, `${creativeId} is ${review.status} at ${review.seller.name}`);
  };
};
