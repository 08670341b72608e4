import { z } from 'zod';
import { ReviewCreativeBody } from '../command/creatives/creative-input.ts';
import { reviewForSeller } from '../command/creatives/review-creative.ts';
import { loadDirectory } from '../command/sellers/directory.ts';
import { addSeller, changeSeller, SellerInput } from '../command/sellers/manage-sellers.ts';
import type { Seller } from '../domain/sellers/seller-resource.ts';
import { systemClock } from '../shared/clock.ts';
import { createSnapshotStore } from '../shared/command/snapshots.ts';
import { defined } from '../shared/defined.ts';
import { randomId } from '../shared/ids.ts';
import { createLog } from '../shared/log.ts';
import { command, telling, type Command, type Told, type Work } from './command.ts';
import { idOf, read, WordsError } from './words.ts';

/** The operator's commands on sellers, and what sellers say of creatives: from words to words. */

const told = (seller: Seller): Told => {
  const { sellerId, name, channels, retired } = seller;
  return {
    value: seller,
    text: `${sellerId} ${name}${retired ? ' (retired)' : ''}: ${channels.join(', ') || 'all channels'}`,
  };
};

const sellersList = command({
  name: 'sellers list',
  places: [],
  about: 'Lists the directory, retired sellers too.',
  understand: () =>
    async function* ({ backbone }) {
      for (const seller of await loadDirectory(await backbone())) yield told(seller);
      return undefined;
    },
});

type Writes = Parameters<typeof addSeller>[0];

const sellerWork = (work: (writes: Writes) => Promise<Seller>): Work =>
  telling(async ({ backbone }) => {
    const { store } = await backbone();
    return told(await work({ store, clock: systemClock }));
  });

const changeWork = (word: string | undefined, changes: Parameters<typeof changeSeller>[2]): Work => {
  const sellerId = idOf('SELLER', word);
  return sellerWork((writes) => changeSeller(writes, sellerId, changes));
};

const members = {
  name: { type: 'string', value: 'NAME' },
  channels: { type: 'string', value: 'CHANNEL,...' },
  'logo-url': { type: 'string', value: 'URL' },
} as const;

const membersOf = (given: {
  readonly name?: string | undefined;
  readonly channels?: string | undefined;
  readonly 'logo-url'?: string | undefined;
}) =>
  defined({
    name: given.name,
    logoUrl: given['logo-url'],
    channels: given.channels === '' ? [] : given.channels?.split(',').map((channel) => channel.trim()),
  });

const sellersAdd = command({
  name: 'sellers add',
  places: [],
  options: { ...members, name: { ...members.name, needed: true } },
  about: 'Adds a seller to the directory; without channels it sells in all.',
  understand: (_, given) => {
    const seller = read(SellerInput, membersOf({ ...given, channels: given.channels ?? '' }));
    return sellerWork((writes) => addSeller(writes, seller));
  },
});

const sellersChange = command({
  name: 'sellers change',
  places: ['SELLER'],
  options: members,
  about: 'Changes what is given of a seller.',
  understand: ([seller], given) => changeWork(seller, read(SellerInput.partial(), membersOf(given))),
});

const retiringCommand = (verb: 'retire' | 'reopen', about: string): Command =>
  command({
    name: `sellers ${verb}`,
    places: ['SELLER'],
    about,
    understand: ([seller]) => changeWork(seller, { retired: verb === 'retire' }),
  });

const Revision = z.coerce.number().optional();

const creativesReview = command({
  name: 'creatives review',
  places: ['ACCOUNT', 'CREATIVE', 'SELLER'],
  options: {
    status: { type: 'string', value: 'STATUS', needed: true },
    reason: { type: 'string', value: 'TEXT' },
    revision: { type: 'string', value: 'N' },
  },
  about:
    'Enters what a seller has decided of a creative, as of that revision of it: with approved it has to be said.',
  understand: ([account, creativeId = '', seller], given) => {
    const customerId = idOf('ACCOUNT', account);
    const sellerId = idOf('SELLER', seller);
    const { status, reason: rejectionReason } = given;
    const expectedRevision = read(Revision, given.revision);
    if (status === 'approved' && expectedRevision === undefined) {
      throw new WordsError(
        '--revision is needed with --status approved: the revision that the seller has looked at',
      );
    }
    const body = read(ReviewCreativeBody, { status, rejectionReason, expectedRevision });
    return telling(async ({ backbone }) => {
      const { store, pool } = await backbone();
      const commandId = randomId();
      const context = { commandId, customerId, actor: 'operator', requestId: commandId };
      const snapshots = createSnapshotStore(pool, createLog('silent'));
      const stores = { store, snapshots, clock: systemClock };
      const review = await reviewForSeller(stores, creativeId, sellerId, body, context);
      return { value: review, text: `${creativeId} is ${review.status} at ${review.seller.name}` };
    });
  },
});

export const sellerCommands: readonly Command[] = [
  sellersList,
  sellersAdd,
  sellersChange,
  retiringCommand('retire', 'It takes no more creatives.'),
  retiringCommand('reopen', 'It takes them again.'),
  creativesReview,
];
