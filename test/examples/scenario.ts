import type { Exchanges } from './exchanges.ts';
import type { MailServer } from '../support/mail-server.ts';
import type { ReportingSellers } from '../support/reporting-sellers.ts';
import type { RunningService } from '../support/running-service.ts';
import type { SandboxAgent } from '../support/sandbox-agent.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';

/** A service with everything that it calls. */
export interface Scenario extends Pick<Exchanges, 'call' | 'until'> {
  readonly baseUrl: string;
  /** What no request can do is done here, as by an operator. */
  readonly service: Pick<RunningService, 'baseUrl' | 'installation' | 'pool'>;
  readonly mails: MailServer;
  readonly agent: SandboxAgent;
  readonly sellers: ReportingSellers;
  readonly receiver: WebhookReceiver;
  readonly startedMs: number;
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const timeOf = (ms: number): string => new Date(ms).toISOString();
export const dayOf = (ms: number): string => timeOf(ms).slice(0, 10);
