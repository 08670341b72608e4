import {
  keepPreviousData,
  QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useRef } from 'react';
import { ExchangeConnectionError, ExchangeError } from '../../../client/src/index.ts';
import { call, readItems, type Answer, type Call, type Query } from './call.ts';
import { pauseFor } from './pauses.ts';

export const BUYER = '/api/v2/buyer';
export const ACCOUNT = '/api/v2/accounts/current';

const RETRY_WAIT_S_MAX = 120;

const waitOf = (error: unknown): number | undefined => {
  const waitS = error instanceof ExchangeError ? error.retryAfterSeconds : undefined;
  return waitS !== undefined && waitS <= RETRY_WAIT_S_MAX ? waitS : undefined;
};

/**
 * Reads that are refused for a while go on by themselves; the stream of events says what is out of date. The client has
 * already repeated what a short wait can mend.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      retry: (_, error) => {
        const waitS = waitOf(error);
        if (waitS !== undefined) pauseFor(waitS);
        return waitS !== undefined;
      },
      retryDelay: (_, error) => (waitOf(error) ?? 0) * 1_000,
    },
  },
});

/** A query's key begins with the path: events invalidate by it (`live.ts`). */
const keyOf = (path: string, query: Query): readonly unknown[] => [path, query];

interface ReadOptions {
  readonly enabled?: boolean;
  /** Shows the last answer until the next one is there. */
  readonly keeps?: boolean;
}

export const useAnswer = <Data>(
  path: string,
  query: Query = {},
  { enabled = true, keeps = false }: ReadOptions = {},
): UseQueryResult<Answer<Data>> =>
  useQuery({
    queryKey: keyOf(path, query),
    queryFn: ({ signal }) => call<Data>({ path, query, signal }),
    enabled,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  });

const dataOf = <Data>({ data }: Answer<Data>): Data => data;

export const useRead = <Data>(
  path: string,
  query: Query = {},
  { enabled = true }: ReadOptions = {},
): UseQueryResult<Data> =>
  useQuery({
    queryKey: keyOf(path, query),
    queryFn: ({ signal }) => call<Data>({ path, query, signal }),
    enabled,
    select: dataOf<Data>,
  });

/** The items of all pages of a list, up to `itemsMax`. */
export const useItems = <Item>(
  path: string,
  query: Query = {},
  { enabled = true, itemsMax = 500 }: ReadOptions & { readonly itemsMax?: number } = {},
): UseQueryResult<readonly Item[]> =>
  useQuery({
    queryKey: [...keyOf(path, query), itemsMax],
    queryFn: ({ signal }) => readItems<Item>(path, query, itemsMax, signal),
    enabled,
  });

const isOutcomeUnknown = (error: unknown): error is ExchangeError | ExchangeConnectionError =>
  (error instanceof ExchangeError || error instanceof ExchangeConnectionError) && error.isOutcomeUnknown;

/**
 * A write. The same input again, after no answer, is the same request: it has the same key.
 * @param touches paths that begin like this are read again; default: all
 */
export const useWrite = <Data, Input = void>(
  requestOf: (input: Input) => Call,
  touches: readonly string[] = [''],
): UseMutationResult<Answer<Data>, Error, Input> => {
  const client = useQueryClient();
  const unanswered = useRef<{ readonly text: string; readonly key: string | undefined }>(undefined);
  return useMutation({
    mutationFn: async (input: Input) => {
      const request = requestOf(input);
      const text = JSON.stringify(request);
      const key = unanswered.current?.text === text ? unanswered.current.key : undefined;
      try {
        const answer = await call<Data>({ ...request, key });
        unanswered.current = undefined;
        return answer;
      } catch (error) {
        unanswered.current = isOutcomeUnknown(error) ? { text, key: error.idempotencyKey } : undefined;
        throw error;
      }
    },
    onSuccess: () => {
      void client.invalidateQueries({
        predicate: ({ queryKey: [path] }) => touches.some((start) => String(path).startsWith(start)),
      });
    },
  });
};
