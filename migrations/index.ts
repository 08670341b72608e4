import type { Knex } from 'knex';
import { accounts } from './accounts.ts';
import { advertisers } from './advertisers.ts';
import { agents } from './agents.ts';
import { assets } from './assets.ts';
import { audiences } from './audiences.ts';
import { auditLog } from './audit-log.ts';
import { campaigns } from './campaigns.ts';
import { catalogs } from './catalogs.ts';
import { confirmations } from './confirmations.ts';
import { conversions } from './conversions.ts';
import { creatives } from './creatives.ts';
import { engines } from './engines.ts';
import { eventLog } from './event-log.ts';
import { eventSources } from './event-sources.ts';
import { idempotency } from './idempotency.ts';
import { logChain } from './log-chain.ts';
import { mcp } from './mcp.ts';
import { notifications } from './notifications.ts';
import { oauth } from './oauth.ts';
import { personalData } from './personal-data.ts';
import { proposals } from './proposals.ts';
import { rateLimits } from './rate-limits.ts';
import { readModels } from './read-models.ts';
import { reporting } from './reporting.ts';
import { sellers } from './sellers.ts';
import { signIn } from './sign-in.ts';
import { syndication } from './syndication.ts';
import { tasks } from './tasks.ts';
import { webhooks } from './webhooks.ts';
import { work } from './work.ts';

/** `Migration` of `shared`, by structure: this folder imports nothing. */
interface Migration {
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

/**
 * The baselines of 0.2.0, then numbered files (`0001-...`). A released one is never edited or moved
 * (docs/design/releases.md). `accounts` is early: policies call its function.
 */
export const migrations: readonly Migration[] = [
  eventLog,
  accounts,
  signIn,
  oauth,
  readModels,
  idempotency,
  confirmations,
  rateLimits,
  personalData,
  logChain,
  auditLog,
  tasks,
  work,
  advertisers,
  campaigns,
  creatives,
  sellers,
  assets,
  engines,
  agents,
  eventSources,
  conversions,
  audiences,
  catalogs,
  syndication,
  proposals,
  reporting,
  notifications,
  mcp,
  webhooks,
];
