import { ApiError } from '../../shared/http/errors.ts';

export interface UploadHolder {
  /** An IPv4 address, or the /64 prefix of an IPv6 address. */
  readonly clientAddress: string;
  readonly customerId: number;
}

/** Limits the uploads open in this process. Each holds a connection for up to the lifetime of its token. */
export interface OpenUploads {
  /** @throws ApiError RATE_LIMITED, before `upload` runs, when the address or the account is at its limit */
  run<Result>(holder: UploadHolder, upload: () => Promise<Result>): Promise<Result>;
}

/** Seconds. */
const RETRY_AFTER = '5';

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
      message: `Your ${of} has ${max} uploads in progress, which is the limit. Repeat the request when one of them has ended.`,
      details: { reason: 'open_uploads', of, limit: max, open: max },
    },
    // The body is not read, so the connection cannot serve another request.
    { 'Retry-After': RETRY_AFTER, Connection: 'close' },
  );
