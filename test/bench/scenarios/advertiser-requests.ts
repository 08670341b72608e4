import { httpLoad, rawRequest, type LoadOptions, type LoadResult } from '../http-load.ts';

export const advertisersPath = '/api/v2/buyer/advertisers';

const body = (n: number): string =>
  JSON.stringify({
    name: `Advertiser ${n}`,
    primaryCurrency: 'USD',
    description: 'Sports shoes for every day',
    brandCountries: ['US', 'DE'],
    channels: ['ctv', 'display'],
  });

export const authorized = ({ apiKey }: { readonly apiKey: string }): Record<string, string> => ({
  Authorization: `Bearer ${apiKey}`,
});

/** Requests that each create another advertiser. */
export const createRequests = (
  path: string,
  headers: () => Readonly<Record<string, string>>,
): (() => string) => {
  let n = 0;
  return () => rawRequest('POST', path, { 'Content-Type': 'application/json', ...headers() }, body(n++));
};

/** @throws Error if an answer is not 2xx: the figures would be meaningless */
export const loadWell = async (options: LoadOptions): Promise<LoadResult> => {
  const result = await httpLoad(options);
  if (result.failed > 0)
    throw new Error(`${result.failed} answers were not 2xx: ${result.failedWith.join(', ')}`);
  return result;
};

/** Requests per second. @throws Error if an answer is not 2xx */
export const rate = async (
  port: number | readonly number[],
  connections: number,
  seconds: number,
  request: () => string,
): Promise<number> => (await loadWell({ port, connections, seconds, request })).perSecond;

/** Ids of an account's newest advertisers. Like every read, it waits for the read model. */
export const newestIds = async (
  port: number,
  account: { readonly apiKey: string },
  take: number,
): Promise<readonly number[]> => {
  const url = `http://127.0.0.1:${port}${advertisersPath}?take=${take}`;
  const answer = await fetch(url, { headers: authorized(account) });
  const { data } = (await answer.json()) as { data: { id: number }[] | null };
  if (data === null) throw new Error(`${url}: ${answer.status}`);
  return data.map(({ id }) => id);
};
