import type { EventSourceMessage } from 'eventsource-parser';
import { z } from 'zod';
import { baseUrlOf } from '../app/base-url.ts';
import type { Config } from '../app/config.ts';
import { newSecret } from '../command/webhooks/signing-secret.ts';
import { isHttpUrl } from '../domain/values.ts';
import { SigningSecret } from '../domain/webhooks/input.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { forward, isDelivered, type ForwardOutcome, type ForwardOptions } from './listen/forward.ts';
import { streamFrames } from './listen/stream-frames.ts';
import { ArgumentsError, parseId, readOptions } from './parse-args.ts';

/** Streams the events of an account to a program of a developer, as webhooks would. Needs no store of the service. */

interface Options {
  readonly forwardTo: string;
  readonly url?: string;
  readonly key?: string;
  readonly topics?: string;
  readonly advertiser?: number;
  readonly secret?: string;
  readonly bearer?: boolean;
}

export const addListenCommand = (program: OperatorCommand, tools: Tools): void => {
  program
    .command('listen')
    .summary('Forwards the events of an account to a program on this machine.')
    .description(
      'Forwards the events of an account to a program on this machine, signed as webhooks are, until Ctrl-C. It reads the ' +
        'realtime stream, so the service need not reach this machine. Prints the signing secret, and a line per event with ' +
        'its type, its resource and the status of the answer. After a break it continues where it was. An event is sent up ' +
        'to four times, then left out.',
    )
    .requiredOption('--forward-to <URL>', 'where to POST the events')
    .option('--url <URL>', 'address of the service; default: BASE_URL, or http://HOST:PORT')
    .option(
      '--key <KEY>',
      'API key of the account, with the scope exchange:read; default: EXCHANGE_API_KEY, which other users of this machine ' +
        'cannot read',
    )
    .option('--topics <TYPES>', 'only these types of events, e.g. "creative.*,task.failed"; default: all')
    .option('--advertiser <ID>', 'only events of this advertiser', parseId)
    .option('--secret <SECRET>', 'signing secret, 16 to 256 characters; default: a new one')
    .option('--bearer', 'also send the secret as Authorization: Bearer')
    .exits({
      0: 'does not occur: Ctrl-C ends the command, with status 130',
      1: 'the service refuses the API key, or cannot be reached at the start',
    })
    .example(
      '--forward-to http://127.0.0.1:4400/webhooks',
      '--forward-to http://127.0.0.1:4400 --topics "campaign.*" --advertiser 7',
    )
    .action((options: Options) => listen(options, tools));
};

const listen = async (options: Options, { config, print, remark }: Tools): Promise<void> => {
  const { url, apiKey, to } = settingsOf(options, config());
  const { origin } = url;
  print(
    { listening: origin, forwardTo: to.to, secret: to.secret },
    `Signing secret: ${to.secret}\nEvents of ${origin} go to ${to.to}`,
  );
  const onBreak = (why: string, waitMs: number): void =>
    remark(`The stream broke: ${why}. Connecting again in ${(waitMs / 1_000).toFixed(1)} s.`);
  for await (const frame of streamFrames({ url, apiKey, onBreak })) {
    switch (frame.event ?? '') {
      case 'ready':
        remark('Connected.');
        break;
      case 'cursor':
        break;
      case 'reset':
        print(...resetOf(frame));
        break;
      default:
        print(...(await forwardEvent(frame, to)));
    }
  }
};

const Url = z
  .string()
  .refine((text) => isHttpUrl(text) && new URL(text).username === '', 'must be an http or https URL');

const Settings = z.object({ forwardTo: Url, url: Url.optional(), secret: SigningSecret });

interface ListenSettings {
  readonly url: URL;
  readonly apiKey: string;
  readonly to: ForwardOptions;
}

/** @throws ArgumentsError */
const settingsOf = (
  { topics, advertiser, bearer = false, key, ...rest }: Options,
  config: Config,
): ListenSettings => {
  const apiKey = key ?? config.EXCHANGE_API_KEY;
  if (apiKey === undefined)
    throw new ArgumentsError('set EXCHANGE_API_KEY to an API key, or give one with --key');
  if (!/^[\u0021-\u007e]+$/.test(apiKey))
    throw new ArgumentsError('the API key has a character that no key has');
  const options = { forwardTo: '--forward-to', url: '--url', secret: '--secret' };
  const { forwardTo, secret = newSecret(), url } = readOptions(Settings, rest, options);
  const base = (url ?? baseUrlOf(config, config.PORT)).replace(/\/+$/, '');
  const stream = new URL(`${base}/api/v2/buyer/realtime`);
  if (topics !== undefined) stream.searchParams.set('topics', topics);
  if (advertiser !== undefined) stream.searchParams.set('advertiserId', String(advertiser));
  return { url: stream, apiKey, to: { to: forwardTo, secret, isBearer: bearer } };
};

const Reset = z.object({ oldest: z.string() });

const resetOf = ({ data }: EventSourceMessage): readonly [object, string] => {
  const reset = Reset.parse(JSON.parse(data));
  return [
    { reset },
    `EVENTS WERE MISSED: the service keeps none from before ${reset.oldest}. Read the state of your resources again.`,
  ];
};

/** Types that a newer service sends are forwarded, too. */
const Event = z.object({
  id: z.string().regex(/^msg_[\da-f-]{36}$/),
  type: z.string(),
  data: z.object({ resourceType: z.string(), resourceId: z.string(), revision: z.int() }),
});

/** Sends exactly the bytes of the frame, which are those of a webhook with `payload: thin`. */
const forwardEvent = async (
  { data }: EventSourceMessage,
  to: ForwardOptions,
): Promise<readonly [object, string]> => {
  const { id, type, data: about } = Event.parse(JSON.parse(data));
  const { resourceType, resourceId, revision } = about;
  const forwarded = await forward(to, id.slice('msg_'.length), Buffer.from(data));
  const line = `${type} ${resourceType} ${resourceId} revision ${revision} -> ${answerOf(forwarded)}`;
  return [{ id, type, resourceType, resourceId, revision, ...forwarded }, line];
};

const answerOf = (forwarded: ForwardOutcome): string => {
  const { status, error = '', attempts, durationMs } = forwarded;
  const times = attempts === 1 ? '' : `, attempt ${attempts}`;
  const end = isDelivered(forwarded) ? '' : ', left out';
  return `${status ?? error}, ${durationMs} ms${times}${end}`;
};
