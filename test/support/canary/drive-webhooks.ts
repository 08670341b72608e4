import type { Api } from '../api-client.ts';
import { untilDefinite } from '../api-client.ts';
import type { TestAccount } from '../running-service.ts';
import { newSecret, type CanaryRun } from './canary-run.ts';

const path = '/webhook-subscriptions';
const body = { url: 'https://hooks.example.com/', eventTypes: ['*'] };

interface Answer {
  readonly subscription?: { readonly id: string };
  readonly secret?: string;
}

/** Signing secrets: given, generated, refused, repeated, rotated, in wrong places, and sent during outages. */
export const driveWebhooks = async (run: CanaryRun, { api }: TestAccount): Promise<void> => {
  const { recordAnswer, searchStores } = run;
  const send = sender(run, api);
  const given = { secret: run.track(newSecret('signs-')) };
  const keyed = { 'Idempotency-Key': 'subscription-with-a-given-secret' };
  const { subscription } = await send(path, given, keyed);
  await send(path, given, keyed);
  const generated = { 'Idempotency-Key': 'subscription-with-a-generated-secret' };
  const other = await send(path, {}, generated);
  const again = await send(path, {}, generated);
  if (other.secret === undefined || other.secret !== again.secret)
    throw new Error('no secret was shown twice');
  await sendBroken(run, send);
  const one = `${path}/${subscription?.id}`;
  await send(`${one}/rotate-secret`, { secret: run.track(newSecret('signs-')) });
  await send(`${one}/rotate-secret`, { secret: run.track(newSecret('refused-')) });
  const rotated = { 'Idempotency-Key': 'rotated-once-and-repeated' };
  for (let times = 0; times < 2; times += 1) await send(`${one}/rotate-secret`, { force: true }, rotated);
  await searchStores();
  for (const end of ['', '/history', '/explain', '/diff?from=0', '/deliveries', '?asOf=1']) {
    recordAnswer((await api.get(one + end)).text);
  }
  recordAnswer((await api.get(path)).text);
  recordAnswer((await api.put(one, { ...body, secret: run.track(newSecret()) })).text);
  recordAnswer((await api.post(`${one}/test`, { type: 'task.failed' })).text);
  recordAnswer((await api.delete(`${path}/${other.subscription?.id}`)).text);
  recordAnswer((await api.get('/audit-logs?take=500')).text);
  await searchStores();
};

type Send = (
  to: string,
  more: object,
  headers?: Readonly<Record<string, string>>,
  isRepeated?: boolean,
) => Promise<Answer>;

const sender =
  ({ track, recordAnswer }: CanaryRun, api: Api): Send =>
  async (to, more, headers = {}, isRepeated = true) => {
    const post = () => api.post<Answer | null>(to, { ...body, ...more }, headers);
    const { text, body: envelope } = isRepeated ? await untilDefinite(post) : await post();
    const { secret } = envelope.data ?? {};
    if (secret !== undefined) track(secret);
    recordAnswer(text, secret);
    return envelope.data ?? {};
  };

const sendBroken = async (
  { track, withFailingStore, withoutTable }: CanaryRun,
  send: Send,
): Promise<void> => {
  const secret = () => track(newSecret('signs-'));
  for (const more of [
    { secret: `${secret()} x` },
    { secret: [secret()] },
    { secret: { [secret()]: secret() } },
    { secret: `whsec_${secret()}` },
    { secret: secret(), url: 'http://hooks.example.com/' },
    { secret: secret(), url: `https://user:${secret()}@hooks.example.com/` },
    { secret: secret(), eventTypes: [secret()] },
    { secret: secret(), advertiserIds: [2_000_000_000] },
    { secret: secret(), authentication: secret() },
  ]) {
    await send(path, more);
  }
  await withFailingStore(async () => void (await send(path, { secret: secret() }, {}, false)));
  await withoutTable('secrets', async () => void (await send(path, { secret: secret() }, {}, false)));
};
