import { randomUUID } from 'node:crypto';
import type { SellerInput } from '../../domain/sellers/input.ts';
import {
  INSTALLATION,
  SELLERS,
  type SellerChanges,
  type SellerCommand,
} from '../../domain/sellers/seller-directory.ts';
import type { Seller, SellerAgent, SellerDirectory } from '../../domain/sellers/resource.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { loadDirectory, noSeller, runOnDirectory } from './handler.ts';

interface Writes {
  readonly store: EventStore;
  readonly clock: Clock;
}

type Below<Command> = Command extends unknown ? Omit<Command, 'now'> : never;

const run = ({ store, clock }: Writes, command: Below<SellerCommand>): Promise<SellerDirectory> =>
  runOnDirectory(store, { ...command, now: isoTimestamp(clock.now()) });

/** @throws ApiError CONFLICT (name taken, also by an earlier run of this command; directory full) */
export const addSeller = async (writes: Writes, seller: SellerInput): Promise<Seller> => {
  const directory = await run(writes, { type: 'AddSeller', seller: omitUndefined(seller) });
  const added = directory.find(({ name }) => name === seller.name);
  if (added === undefined) throw new Error('a seller that was added is in the directory');
  return added;
};

/** @throws ApiError NOT_FOUND, CONFLICT (name taken) */
export const changeSeller = async (
  writes: Writes,
  sellerId: number,
  given: { readonly [Member in keyof SellerChanges]: SellerChanges[Member] | undefined },
): Promise<Seller> => {
  const changes = omitUndefined(given);
  const directory = await run(writes, { type: 'ChangeSeller', sellerId, changes });
  const changed = directory.find((seller) => seller.sellerId === sellerId);
  if (changed === undefined) throw new Error('a seller that was changed is in the directory');
  return changed;
};

interface AgentWrites extends Writes {
  readonly secrets: SecretStore;
}

/** The owner of a seller's secrets. */
const secretOwnerOf = (sellerId: number) => ({
  kind: SELLERS,
  id: resourceIdOf(SELLERS, INSTALLATION, 0, String(sellerId)),
});

/**
 * Replaces the seller's agent and its token; undefined disconnects it.
 * @throws ApiError NOT_FOUND
 */
export const connectSeller = async (
  { secrets, ...writes }: AgentWrites,
  sellerId: number,
  agent: (Omit<SellerAgent, 'secretId'> & { readonly token?: string | undefined }) | undefined,
): Promise<Seller> => {
  const known = (await loadDirectory(writes)).find((seller) => seller.sellerId === sellerId);
  if (known === undefined) throw noSeller();
  const secretId = agent?.token === undefined ? undefined : randomUUID();
  // Stored before the event. After a crash in between nothing refers to the secret, and a sweep deletes it.
  if (agent?.token !== undefined && secretId !== undefined) {
    await secrets.put(INSTALLATION, secretId, agent.token, secretOwnerOf(sellerId));
  }
  const recorded = agent && omitUndefined({ url: agent.url, protocol: agent.protocol, secretId });
  const changed = await changeSeller(writes, sellerId, { agent: recorded ?? null });
  // After the event: in the other order a crash would leave an agent without its token.
  const before = known.agent?.secretId;
  if (before !== undefined) await secrets.remove(INSTALLATION, before);
  return changed;
};
