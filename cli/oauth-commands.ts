import { addClientOfOperator, clientsOfOperator, removeClient } from '../command/accounts/oauth/clients.ts';
import { revokeGrantsOfClient } from '../command/accounts/oauth/grants.ts';
import { oauthGrantRowsIn } from '../projections/oauth-grant-rows.ts';
import { systemClock } from '../shared/async/clock.ts';
import { clientMetadata, ClientRefusedError } from '../command/accounts/oauth/client-policy.ts';
import { ArgumentsError } from './parse-args.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { printList, relativeTime } from './print-table.ts';

interface AddOptions {
  readonly name: string;
  readonly redirectUri: readonly string[];
}

export const addOAuthCommands = (program: OperatorCommand, tools: Tools): void => {
  const { installation, print } = tools;
  const clients = program
    .command('oauth')
    .description('Access of OAuth clients.')
    .command('clients')
    .description('Clients that can neither register themselves nor publish a metadata document.');

  clients
    .command('add')
    .description('Adds a client and prints its id. The consent page shows it as verified.')
    .requiredOption('--name <NAME>', '1 to 120 characters')
    .requiredOption('--redirect-uri <URI...>', 'where the codes go; at most 10')
    .example('--name "Planning tool" --redirect-uri https://planning.example.com/callback')
    .action(async ({ name, redirectUri }: AddOptions) => {
      const metadata = metadataOf(name, redirectUri);
      const { pool } = await installation();
      const clientId = await addClientOfOperator(pool, metadata);
      print({ clientId, name, redirectUris: redirectUri }, `Client ${clientId} (${name}) is added.`);
    });

  clients
    .command('list')
    .description('Lists the clients that an operator added.')
    .action(async () => {
      const { pool } = await installation();
      await printList(tools, clientsOfOperator(pool), {
        head: ['client', 'name', 'added', 'redirect URIs'],
        cells: ({ clientId, metadata, registeredAt }) => [
          clientId,
          String(metadata.client_name),
          relativeTime(registeredAt),
          (metadata.redirect_uris ?? []).join(' '),
        ],
        empty: 'No client was added. Add one: exchange oauth clients add --name NAME --redirect-uri URI',
      });
    });

  clients
    .command('remove')
    .description(
      'Revokes all access that users gave a client, also one that registered itself or publishes a metadata document, ' +
        'and removes the registration.',
    )
    .argument('<CLIENT>', 'id of the client, as `oauth clients list` or its connected apps show it')
    .example('5c2f4a1e-8f0c-4a53-9d0b-1f6c1f3f0b7a')
    .action(async (clientId: string) => {
      const { store, pool } = await installation();
      const wasRegistered = await removeClient(pool, clientId);
      const writes = { store, pool, clock: systemClock, rows: oauthGrantRowsIn(pool) };
      const revoked = await revokeGrantsOfClient(writes, clientId);
      // After an interruption, a repeat finds the access that is left.
      if (!wasRegistered && revoked === 0) throw new Error(`There is no client ${clientId}.`);
      print({ clientId, revoked }, `Client ${clientId} is removed. Users had connected it ${revoked} times.`);
    });
};

const metadataOf = (name: string, redirectUris: readonly string[]) => {
  try {
    return clientMetadata({
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
    });
  } catch (error) {
    throw error instanceof ClientRefusedError ? new ArgumentsError(error.message) : error;
  }
};
