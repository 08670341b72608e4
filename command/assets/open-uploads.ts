import { ApiError } from '../../shared/http/errors.ts';

/** What an upload counts for. */
export interface UploadHolder {
  /** As rate limits count it: an IPv4 address, or the /64 of an IPv6 one. */
  readonly clientAddress: string;
  readonly customerId: number;
}

/** The uploads that are open in this process: each holds a connection, for as long as its token lasts. */
export interface OpenUploads {
  /**
   * Runs an upload, which counts for its client address and its account until it has ended, however it ends.
   * @throws ApiError RATE_LIMITED when one of the two has as many open as it may; nothing was run then
   */
  run<Result>(holder: UploadHolder, upload: () => Promise<Result>): Promise<Result>;
}

/** Until one of them may have ended, seconds. */
const RETRY_AFTER = '5';

/** @param max uploads that one client address, and one account, may have open at once */
export const createOpenUploads = (max: number): OpenUploads => {
  const byAddress = new Map<string, number>();
  const byAccount = new Map<number, number>();
  return {
    run: async ({ clientAddress, customerId }, upload) => {
      if ((byAddress.get(clientAddress) ?? 0) >= max) throw tooMany('client address', max);
      if ((byAccount.get(customerId) ?? 0) >= max) throw tooMany('account', max);
      add(byAddress, clientAddress, 1);
      add(byAccount, customerId, 1);
      try {
        return await upload();
      } finally {
        add(byAddress, clientAddress, -1);
        add(byAccount, customerId, -1);
      }
    },
  };
};

const add = <Key>(counts: Map<Key, number>, key: Key, change: number): void => {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};

const tooMany = (of: 'client address' | 'account', max: number): ApiError =>
  new ApiError(
    {
      code: 'RATE_LIMITED',
      message: `Your ${of} has ${max} uploads under way, as many as it may. Repeat the request when one of them has ended.`,
      details: { reason: 'open_uploads', of, limit: max, open: max },
    },
    // The body is not read, so the connection cannot serve another request.
    { 'Retry-After': RETRY_AFTER, Connection: 'close' },
  );
