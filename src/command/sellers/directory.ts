import {
  INSTALLATION,
  sellerDirectoryDecider,
  sellerDirectoryStream,
  type SellerCommand,
  type SellerRefusal,
} from '../../domain/sellers/seller-directory.ts';
import { sellerEvents } from '../../domain/sellers/seller-events.ts';
import type { SellerDirectory } from '../../domain/sellers/seller-resource.ts';
import { executeCommand, loadState, type Outcome } from '../../shared/command/execute-command.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { randomId } from '../../shared/ids.ts';

const aggregate = { decider: sellerDirectoryDecider, events: sellerEvents };

/** The directory as its stream says now. */
export const loadDirectory = ({
  store,
  snapshots,
}: {
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}): Promise<SellerDirectory> => loadState(store, aggregate, sellerDirectoryStream, snapshots);

/** A command of the operator on the directory. */
export const runOnDirectory = (
  store: EventStore,
  command: SellerCommand,
): Promise<Outcome<SellerDirectory, SellerRefusal>> => {
  const commandId = randomId();
  return executeCommand(store, aggregate, {
    stream: sellerDirectoryStream,
    command,
    context: { commandId, customerId: INSTALLATION, actor: 'operator', requestId: commandId },
  });
};
