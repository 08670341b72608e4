import { randomUUID } from 'node:crypto';
import {
  INSTALLATION,
  sellerDirectoryAggregate,
  type SellerCommand,
  type SellerRefusal,
} from '../../domain/sellers/seller-directory.ts';
import type { SellerDirectory } from '../../domain/sellers/seller-resource.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

const { execute, loadAt } = handlerFor(sellerDirectoryAggregate);

export const loadDirectory = async (stores: CommandStores): Promise<SellerDirectory> =>
  (await loadAt(stores, INSTALLATION, undefined)).state;

export const runOnDirectory = (
  store: EventStore,
  command: SellerCommand,
): Promise<Outcome<SellerDirectory, SellerRefusal>> => {
  const commandId = randomUUID();
  const context = { commandId, customerId: INSTALLATION, actor: 'operator', requestId: commandId };
  return execute({ store }, undefined, command, { context });
};
