import type { BrowserOrigins } from '../../shared/http/cors.ts';

/** Account 7 of the toy service registered the first, another account the second. */
export const ownAppOrigin = 'https://app.example.com';
export const otherAppOrigin = 'https://other.example.com:8443';

export interface ToyOrigins extends BrowserOrigins {
  /** Every origin that was looked up. */
  readonly asked: string[];
}

export const createToyOrigins = (): ToyOrigins => {
  const asked: string[] = [];
  return {
    asked,
    isRegistered: async (origin) => {
      asked.push(origin);
      return [ownAppOrigin, otherAppOrigin].includes(origin);
    },
    isOfAccount: async (customerId, origin) => {
      asked.push(origin);
      return customerId === 7 && origin === ownAppOrigin;
    },
  };
};
