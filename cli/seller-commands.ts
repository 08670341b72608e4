import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text as textOfStream } from 'node:stream/consumers';
import { z } from 'zod';
import { ReviewCreativeBody } from '../domain/creatives/input.ts';
import { reviewForSeller } from '../command/creatives/review-creative.ts';
import { loadDirectory } from '../command/sellers/handler.ts';
import { addSeller, changeSeller, connectSeller } from '../command/sellers/commands.ts';
import { foreignCredential } from '../domain/values.ts';
import { agentFields } from '../domain/agents/resource.ts';
import { outboundAddress } from '../shared/http/schemas.ts';
import { outboundPolicyOf } from '../app/config.ts';
import { SellerInput } from '../domain/sellers/input.ts';
import type { Seller } from '../domain/sellers/resource.ts';
import { systemClock } from '../shared/async/clock.ts';
import { createSnapshotStore } from '../shared/aggregate/snapshots.ts';
import { omitUndefined } from '../shared/aggregate/omit-undefined.ts';
import { createLog } from '../app/log.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { parsed, parseId, readOptions, ArgumentsError } from './parse-args.ts';
import { printList } from './print-table.ts';
import { requireAccount } from './operate-accounts.ts';

const textOf = ({ sellerId, name, channels, retired, agent }: Seller): string =>
  `${sellerId} ${name}${retired ? ' (retired)' : ''}: ${channels.join(', ') || 'all channels'}` +
  (agent === undefined ? '' : `, ${agent.protocol} agent at ${urlShown(agent.url)}`);

/** Without the query, which may contain a key. */
const urlShown = (url: string): string => url.replace(/[?#].*$/s, '');

/** What an operator sees: never a token, nor what refers to it. */
const shownSeller = ({ agent, ...seller }: Seller) => ({
  ...seller,
  ...(agent && {
    agent: { url: urlShown(agent.url), protocol: agent.protocol, hasToken: agent.secretId !== undefined },
  }),
});

interface MemberOptions {
  readonly name?: string;
  readonly channels?: string;
  readonly logoUrl?: string;
}

const optionsOfMembers = { name: '--name', channels: '--channels', logoUrl: '--logo-url' } as const;

const membersOf = ({ name, channels, logoUrl }: MemberOptions) =>
  omitUndefined({
    name,
    logoUrl,
    channels: channels === '' ? [] : channels?.split(',').map((channel) => channel.trim()),
  });

export const addSellerCommands = (program: OperatorCommand, tools: Tools): void => {
  const { installation, print } = tools;
  const sellers = program.command('sellers').description('The directory of sellers.');
  const writes = async () => ({ store: (await installation()).store, clock: systemClock });
  const change = async (sellerId: number, changes: Parameters<typeof changeSeller>[2]): Promise<void> => {
    const seller = await changeSeller(await writes(), sellerId, changes);
    print(shownSeller(seller), textOf(seller));
  };

  sellers
    .command('list')
    .description('Lists the directory, retired sellers too.')
    .action(async () => {
      await printList(tools, (await loadDirectory(await installation())).map(shownSeller), {
        head: ['seller', 'status', 'name', 'channels', 'agent'],
        cells: ({ sellerId, name, channels, retired, agent }) => [
          String(sellerId),
          retired ? 'retired' : 'open',
          name,
          channels.join(', ') || 'all',
          agent === undefined ? '' : `${agent.protocol} ${agent.url}`,
        ],
        empty: 'The directory has no seller. Add one: exchange sellers add --name NAME',
      });
    });

  sellers
    .command('add')
    .description('Adds a seller to the directory. Without --channels it sells in all channels.')
    .requiredOption('--name <NAME>', '1 to 200 characters')
    .option('--channels <CHANNEL,...>', 'channels in which it sells')
    .option('--logo-url <URL>', 'https only')
    .example('--name News --channels display,print')
    .action(async ({ channels = '', ...given }: MemberOptions) => {
      const input = readOptions(SellerInput, membersOf({ ...given, channels }), optionsOfMembers);
      const seller = await addSeller(await writes(), input);
      print(shownSeller(seller), textOf(seller));
    });

  sellers
    .command('change')
    .description('Changes the given fields of a seller.')
    .argument('<SELLER>', 'id of the seller', parseId)
    .option('--name <NAME>', '1 to 200 characters')
    .option('--channels <CHANNEL,...>', 'channels in which it sells; empty: all')
    .option('--logo-url <URL>', 'https only')
    .example('1001 --name Newspapers')
    .action((sellerId: number, given: MemberOptions) =>
      change(sellerId, readOptions(SellerInput.partial(), membersOf(given), optionsOfMembers)),
    );

  for (const [verb, retired, about] of [
    ['retire', true, 'Retires a seller: it receives no more creatives.'],
    ['reopen', false, 'Reopens a retired seller: it receives creatives again.'],
  ] as const) {
    sellers
      .command(verb)
      .description(about)
      .argument('<SELLER>', 'id of the seller', parseId)
      .example('1001')
      .action((sellerId: number) => change(sellerId, { retired }));
  }

  addAgents(sellers, tools);
  addCreatives(program, tools);
};

interface AgentOptions {
  readonly agentUrl: string;
  readonly protocol: string;
  readonly tokenFile?: string;
}

/** A longer file does not contain a token. */
const TOKEN_FILE_BYTES_MAX = 10_000;

/** Not an argument: other users of the machine can read those. */
const readToken = async (path: string): Promise<string> => {
  const text = path === '-' ? await textOfStream(process.stdin) : await readFile(path, 'utf8');
  return text.slice(0, TOKEN_FILE_BYTES_MAX).trim();
};

const addAgents = (sellers: OperatorCommand, { installation, config, print }: Tools): void => {
  const connect = async (sellerId: number, agent: Parameters<typeof connectSeller>[2]): Promise<void> => {
    const { store, secrets } = await installation();
    const seller = await connectSeller({ store, secrets, clock: systemClock }, sellerId, agent);
    print(shownSeller(seller), textOf(seller));
  };

  sellers
    .command('connect')
    .description(
      "Connects a seller's AdCP agent, of which buyers can request proposals. Replaces an earlier one.",
    )
    .argument('<SELLER>', 'id of the seller', parseId)
    .requiredOption('--agent-url <URL>', 'https only; not an internal address')
    .option('--protocol <PROTOCOL>', 'MCP or A2A', 'MCP')
    .option('--token-file <FILE>', "file with the agent's bearer token; - reads standard input")
    .example('1001 --agent-url https://ads.example.com/mcp --token-file token.txt')
    .action(async (sellerId: number, { agentUrl, protocol, tokenFile }: AgentOptions) => {
      const schema = z.object({
        url: outboundAddress(outboundPolicyOf(config())),
        protocol: agentFields.protocol.recorded,
        token: foreignCredential().optional(),
      });
      const token = tokenFile === undefined ? undefined : await readToken(tokenFile);
      const options = { url: '--agent-url', protocol: '--protocol', token: '--token-file' } as const;
      await connect(sellerId, readOptions(schema, { url: agentUrl, protocol, token }, options));
    });

  sellers
    .command('disconnect')
    .description("Removes a seller's agent and its token: the seller is asked for no more proposals.")
    .argument('<SELLER>', 'id of the seller', parseId)
    .example('1001')
    .action((sellerId: number) => connect(sellerId, undefined));
};

interface ReviewOptions {
  readonly status: string;
  readonly reason?: string;
  readonly revision?: number;
}

const addCreatives = (program: OperatorCommand, { installation, print }: Tools): void => {
  program
    .command('creatives')
    .description('Creatives of accounts.')
    .command('review')
    .description("Records a seller's review of a creative.")
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<CREATIVE>', 'id of the creative')
    .argument('<SELLER>', 'id of the seller', parseId)
    .requiredOption('--status <STATUS>', 'one of the statuses of the API')
    .option('--reason <TEXT>', 'required with rejected')
    .option(
      '--revision <N>',
      'the revision of the creative that the seller reviewed; required with approved',
      parsed(z.coerce.number().int().min(1), 'It must be the number of a revision.'),
    )
    .example(
      '1 cre_0123456789abcdef 1001 --status approved --revision 4',
      '1 cre_0123456789abcdef 1001 --status rejected --reason "Too loud"',
    )
    .action(async (customerId: number, creativeId: string, sellerId: number, given: ReviewOptions) => {
      const { status, reason: rejectionReason, revision: expectedRevision } = given;
      if (status === 'approved' && expectedRevision === undefined) {
        throw new ArgumentsError(
          '--revision is required with --status approved: the revision that the seller reviewed',
        );
      }
      const body = readOptions(
        ReviewCreativeBody,
        { status, rejectionReason, expectedRevision },
        { status: '--status', rejectionReason: '--reason', expectedRevision: '--revision' },
      );
      await requireAccount(await installation(), customerId);
      const { store, pool } = await installation();
      const commandId = randomUUID();
      const context = { commandId, customerId, actor: 'operator', requestId: commandId };
      const snapshots = createSnapshotStore(pool, createLog('silent'));
      const stores = { store, snapshots, clock: systemClock };
      const review = await reviewForSeller(stores, creativeId, sellerId, body, context);
      print(review, `${creativeId} is ${review.status} at ${review.seller.name}`);
    });
};
