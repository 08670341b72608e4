import type { SellerAgent } from '../../../domain/sellers/resource.ts';
import { INSTALLATION } from '../../../domain/sellers/seller-directory.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { AgentAnswer, AgentCall, CallAgent } from '../syndication/agent-call.ts';
import { readToken } from '../syndication/ask-agent.ts';

export interface AskForProductsOptions {
  readonly secrets: SecretStore;
  readonly callAgent: CallAgent;
}

export type ProductsAsked = Pick<AgentCall, 'idempotencyKey' | 'request' | 'submittedTask' | 'signal'> & {
  /** The time that the caller has for the whole answer. */
  readonly budgetMs: number;
};

/** A seller that has nothing to sell has answered. */
export const NO_INVENTORY = 'PRODUCT_UNAVAILABLE';

/** One call of one seller. Never throws for anything that the seller does. */
export const askForProducts = async (
  { secrets, callAgent }: AskForProductsOptions,
  agent: SellerAgent | undefined,
  { budgetMs, ...asked }: ProductsAsked,
): Promise<AgentAnswer> => {
  if (agent === undefined) {
    return { outcome: 'refused', message: 'The seller has no agent any more.', fault: 'transport' };
  }
  const { url: agentUrl, protocol, secretId } = agent;
  const token = secretId === undefined ? undefined : await readToken(secrets, INSTALLATION, secretId);
  if (secretId !== undefined && token === undefined) {
    return { outcome: 'refused', message: 'The token for the agent is gone.', fault: 'transport' };
  }
  return callAgent({
    agentUrl,
    protocol,
    token,
    task: 'get_products',
    sinceV3: { time_budget: { interval: budgetSeconds(budgetMs), unit: 'seconds' } },
    ...asked,
  });
};

/** The seller receives 25 of 30 seconds: the rest is for the network. */
const budgetSeconds = (budgetMs: number): number => Math.max(1, Math.floor((budgetMs / 1_000) * (25 / 30)));
