import { z } from 'zod';
import type { Scope } from '../../shared/http/principal.ts';
import type { ToolAnnotations, ToolCall } from '../tool.ts';
import { unsupported } from './refusal.ts';

/** A task of AdCP, as a tool. The schemas of AdCP check its arguments. */
export interface AdcpTask {
  readonly name: 'get_adcp_capabilities' | 'get_products' | 'get_media_buy_delivery';
  readonly title: string;
  readonly description: string;
  readonly scope: Scope;
  readonly annotations: ToolAnnotations;
  /** What is listed: clients send no member that it does not name. */
  readonly input: z.ZodObject;
  /**
   * @param given fits AdCP's schema of the request
   * @param bytesMax of the answer as JSON
   * @throws ApiError, AdcpRefusal
   */
  run(given: Given, call: ToolCall, bytesMax: number): Promise<Readonly<Record<string, unknown>>>;
}

export type Given = Readonly<Record<string, unknown>>;

const object = z.looseObject({});

/** What every request of AdCP may have. */
export const commonInput = {
  adcp_major_version: z.int().optional(),
  context: object.optional().meta({ description: 'Comes back as it is.' }),
  ext: object.optional(),
};

const Account = z.union([
  z.object({ account_id: z.string() }),
  z.object({
    brand: z.looseObject({ domain: z.string() }),
    operator: z.string(),
    sandbox: z.boolean().optional(),
  }),
]);
type Account = z.infer<typeof Account>;
type BrandAccount = Extract<Account, { readonly brand: unknown }>;
export const accountInput = Account.optional();

/** @returns the brand that the request is for, if it names one. @throws AdcpRefusal for an account id */
export const brandAccountOf = (account: Account | undefined): BrandAccount | undefined => {
  if (account === undefined || 'brand' in account) return account;
  throw unsupported(
    'This agent gives out no account ids. Name the account by brand and operator.',
    'account',
  );
};
