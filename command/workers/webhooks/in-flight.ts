export interface InFlightOptions {
  readonly atOnceMax: number;
  readonly perAccountMax: number;
  /** The part for slow endpoints. */
  readonly probesMax: number;
}

/** Bounds the requests in flight of this process. */
export interface InFlight {
  /** @param isProbe the endpoint is slow */
  hold<T>(customerId: number, isProbe: boolean, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  readonly customerId: number;
  readonly isProbe: boolean;
  readonly start: () => void;
}

/**
 * First come, first served, but who waits for the bound of an account or of slow endpoints holds back no other:
 * endpoints that hang never take all of them.
 */
export const createInFlight = ({ atOnceMax, perAccountMax, probesMax }: InFlightOptions): InFlight => {
  const waiting: Waiting[] = [];
  const ofAccount = new Map<number, number>();
  let held = 0;
  let probes = 0;

  const isFree = ({ customerId, isProbe }: Pick<Waiting, 'customerId' | 'isProbe'>): boolean =>
    held < atOnceMax && (ofAccount.get(customerId) ?? 0) < perAccountMax && (!isProbe || probes < probesMax);
  const count = (customerId: number, isProbe: boolean, by: 1 | -1): void => {
    held += by;
    if (isProbe) probes += by;
    const left = (ofAccount.get(customerId) ?? 0) + by;
    if (left === 0) ofAccount.delete(customerId);
    else ofAccount.set(customerId, left);
  };
  const startNext = (): void => {
    const next = waiting.findIndex(isFree);
    if (next < 0) return;
    const [first] = waiting.splice(next, 1);
    if (first === undefined) return;
    count(first.customerId, first.isProbe, 1);
    first.start();
  };
  return {
    hold: async (customerId, isProbe, work) => {
      if (isFree({ customerId, isProbe })) count(customerId, isProbe, 1);
      else await new Promise<void>((start) => waiting.push({ customerId, isProbe, start }));
      try {
        return await work();
      } finally {
        count(customerId, isProbe, -1);
        startNext();
      }
    },
  };
};
