import { randomUUID } from 'node:crypto';
import { END_NOTICE, healthStep } from '../../../domain/webhooks/endpoint-health.ts';
import { WEBHOOK } from '../../../domain/webhooks/work.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkKind } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import type { Receiver } from './attempt.ts';
import type { DeliveryRows, Endpoint, Run, SubscriptionKey } from './delivery-rows.ts';
import type { DisableEndpoint } from './disable-endpoint.ts';
import type { NotifyAdmins } from './notify-admins.ts';
import { runDeliveries, type RunEnd, type RunOptions } from './run-deliveries.ts';
import { createSupply, type SupplyOptions } from './supply.ts';

export interface WebhookDeliveriesOptions
  extends Omit<RunOptions, 'rows'>, Pick<SupplyOptions, 'whenMore' | 'isEnding'> {
  readonly rows: DeliveryRows;
  readonly secrets: Pick<SecretStore, 'get'>;
  readonly disable: DisableEndpoint;
  readonly notifyAdmins: NotifyAdmins;
  /** False while the endpoints are read from the log again. */
  readonly prepare: () => Promise<boolean>;
  /** A steady stream of deliveries does not wait for the queue. Default: 500. */
  readonly lingerMs?: number;
}

/** Runs of a process. Most of them only wait for further deliveries. */
const RUNS_MAX = 128;
/** An account's limit of endpoints. */
const PER_ACCOUNT_MAX = 50;
/** Then another subscription may have the run. Together with an attempt it is shorter than `LEASE_MS`. */
const RUN_MS = 10_000;
const LINGER_MS = 500;
const LINGERING_MAX = RUNS_MAX / 2;
const NO_SECRET: WorkResult = {
  is: 'again',
  afterMs: 60 * 60_000,
  isTry: false,
  reason: 'The signing secret is gone. Rotate it.',
};

/** An entry of the list is a subscription with deliveries that wait. If it runs twice, the second run waits for the first. */
export const webhookDeliveries = (options: WebhookDeliveriesOptions): WorkKind => {
  let runs = 0;
  const lingerMs = (): number => (runs <= LINGERING_MAX ? (options.lingerMs ?? LINGER_MS) : 0);
  return {
    name: WEBHOOK,
    concurrency: RUNS_MAX,
    perAccountMax: PER_ACCOUNT_MAX,
    attemptsMax: Infinity,
    prepare: options.prepare,
    handle: async (entry, { signal }) => {
      runs += 1;
      try {
        return await deliverDue(options, lingerMs, entry, signal);
      } finally {
        runs -= 1;
      }
    },
  };
};

const deliverDue = async (
  options: WebhookDeliveriesOptions,
  lingerMs: () => number,
  { customerId, key: subscriptionId }: WorkEntry,
  signal: AbortSignal,
): Promise<WorkResult> => {
  const run = { customerId, subscriptionId, runId: randomUUID() };
  const endpoint = await options.rows.begin(run);
  if (endpoint === undefined) return DONE;
  // It ends, or its worker was killed.
  if ('heldMs' in endpoint) return { is: 'next', afterMs: endpoint.heldMs };
  let ended: Promise<Endpoint | undefined> | undefined;
  const endRun = (): Promise<Endpoint | undefined> => (ended ??= options.rows.end(run));
  try {
    if (endpoint.status !== 'active') return await closeFailing(options, run, endpoint);
    if (!isDue(endpoint)) return await nextRun(options, run, endpoint);
    const receiver = await receiverOf(options, run, endpoint);
    if (receiver === undefined) return NO_SECRET;
    const startedAtMs = options.clock.now();
    const end = await sendDue(options, lingerMs, run, endpoint, receiver, signal);
    signal.throwIfAborted();
    const isDisabled = end.isGone
      ? await options.disable(run, 'gone', startedAtMs)
      : await disableIfHopeless(options, run, end.failed, startedAtMs);
    const after = await endRun();
    if (after === undefined) return DONE;
    if (isDisabled) return await closeFailing(options, run, after, true);
    return await nextRun(options, run, after);
  } finally {
    // If it fails, the run ends by time.
    await endRun().catch(() => undefined);
  }
};

const sendDue = (
  options: WebhookDeliveriesOptions,
  lingerMs: () => number,
  run: Run,
  { revision, slowMs }: Endpoint,
  receiver: Receiver,
  signal: AbortSignal,
): Promise<RunEnd> => {
  const { rows, whenMore, isEnding } = options;
  const supply = createSupply({
    rows,
    run,
    revision,
    runMs: RUN_MS,
    lingerMs,
    whenMore,
    isEnding: () => isEnding() || signal.aborted,
  });
  return runDeliveries(options, receiver, supply, slowMs !== undefined, signal);
};

const isDue = ({ dueMs, slowMs }: Endpoint): boolean =>
  dueMs !== undefined && dueMs <= 0 && (slowMs === undefined || slowMs <= 0);

const receiverOf = async (
  { secrets }: WebhookDeliveriesOptions,
  subscription: SubscriptionKey,
  { url, payload, authentication, secretId, previousSecretId }: Endpoint,
): Promise<Receiver | undefined> => {
  const [newest, previous] = await Promise.all([
    secrets.get(subscription.customerId, secretId),
    previousSecretId === undefined ? undefined : secrets.get(subscription.customerId, previousSecretId),
  ]);
  if (newest === undefined) return undefined;
  return {
    ...subscription,
    url,
    payload,
    authentication,
    secrets: previous === undefined ? [newest] : [newest, previous],
  };
};

const disableIfHopeless = async (
  { rows, disable }: WebhookDeliveriesOptions,
  subscription: SubscriptionKey,
  failed: readonly string[],
  startedAtMs: number,
): Promise<boolean> => {
  for (const deliveryId of failed) {
    if (await rows.isHopeless(subscription, deliveryId)) return disable(subscription, 'failing', startedAtMs);
  }
  return false;
};

/** Also ends what a crash has left between the event and its mail. */
const closeFailing = async (
  { rows, notifyAdmins }: WebhookDeliveriesOptions,
  subscription: SubscriptionKey,
  endpoint: Endpoint,
  isDisabled = endpoint.status === 'gone' || endpoint.status === 'failed',
): Promise<WorkResult> => {
  if (isDisabled && endpoint.failingSince !== undefined)
    await notifyAdmins(subscription, endpoint, END_NOTICE);
  if (endpoint.failingSince !== undefined) await rows.endFailing(subscription);
  return DONE;
};

const nextRun = async (
  options: WebhookDeliveriesOptions,
  subscription: SubscriptionKey,
  endpoint: Endpoint,
): Promise<WorkResult> => {
  const { dueMs, slowMs = 0, failingMs, notices } = endpoint;
  if (dueMs === undefined) {
    if (failingMs !== undefined) await options.rows.endFailing(subscription);
    return DONE;
  }
  const afterMs = Math.max(0, dueMs, slowMs);
  if (failingMs === undefined) return { is: 'next', afterMs };
  const step = healthStep({ failingMs, notices });
  if (step.isHopeless) {
    const isDisabled = await options.disable(subscription, 'failing', options.clock.now());
    if (isDisabled) return closeFailing(options, subscription, endpoint, true);
  }
  if (step.notice !== undefined) await options.notifyAdmins(subscription, endpoint, step.notice);
  return { is: 'next', afterMs: Math.min(afterMs, step.nextMs ?? Infinity) };
};
