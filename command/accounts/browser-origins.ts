import type { BrowserOriginResource } from '../../domain/accounts/resource.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { invalid, notFound } from '../../shared/http/errors.ts';
import { accountOf, runOnAccount, type AccountRows, type AccountWrites } from './handler.ts';

export interface OriginWrites extends AccountWrites {
  readonly rows: Pick<AccountRows, 'writeOrigins' | 'removeOrigins'>;
  /** Pages of this machine may use the API: for the development of browser apps. */
  readonly allowsLoopback: boolean;
}

/** After a crash between event and row, the read model writes the row. */
export const registerBrowserOrigin = async (
  writes: OriginWrites,
  {
    origin,
    label,
    userId,
  }: { readonly origin: string; readonly label?: string | undefined; readonly userId: string },
  context: CommandContext,
): Promise<BrowserOriginResource> => {
  if (origin.startsWith('http:') && !writes.allowsLoopback)
    throw invalid('origin must begin with https: this service is in production.', 'origin');
  const { customerId, commandId } = context;
  const originId = derivedId(commandId, 'browser-origin');
  const now = isoTimestamp(writes.clock.now());
  const registered = { originId, origin, label, userId };
  accountOf(await runOnAccount(writes, { type: 'RegisterOrigin', now, ...registered }, context));
  await writes.rows.writeOrigins([{ customerId, ...registered, registeredAt: now }]);
  return {
    id: originId,
    customerId,
    origin,
    ...(label === undefined ? {} : { label }),
    createdByUserId: userId,
    createdAt: now,
    updatedAt: now,
  };
};

/** In between, a crash leaves the origin allowed until the read model writes the row; the caller has no answer yet. */
export const removeBrowserOrigin = async (
  writes: OriginWrites,
  originId: string,
  context: CommandContext,
): Promise<void> => {
  const { customerId } = context;
  const [found] = await writes.database.query(customerId, {
    name: 'browser-origin-known',
    text: 'select from browser_origins where customer_id = $1 and origin_id = $2',
    values: [customerId, originId],
  });
  if (found === undefined) throw notFound('browser origin');
  const now = isoTimestamp(writes.clock.now());
  accountOf(await runOnAccount(writes, { type: 'RemoveOrigin', now, originId }, context));
  await writes.rows.removeOrigins([{ customerId, originId, removedAt: now }]);
};
