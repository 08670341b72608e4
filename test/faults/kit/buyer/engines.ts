import { engineConnectionResource, type EngineConnection } from '../../../../domain/engines/resource.ts';
import { engineConnectionStream } from '../../../../domain/engines/engine-connection.ts';
import { slotIdOf } from '../../../../command/engines/handler.ts';
import { picked, type Command, type Data, type Reading } from '../command.ts';
import type { Random } from '../random.ts';
import { REFUSED_PROBABILITY, type Choice, type ClientState } from './client-state.ts';

/** Every write has an idempotency key: the account has only one connection, so its state must be known. */
export const commandOnEngine = (
  own: ClientState,
  home: { readonly id: number; readonly name: string },
  key: string,
  random: Random,
): Choice => {
  const { connection, engineId, customerId } = own;
  const path = `/api/v2/buyer/creative-engines/${engineId}/connections`;
  const reading = (data: Data): Reading => ({
    url: `${path}?take=1`,
    shown: picked(data, 'id', 'credential', 'accounts', 'accountMappings', 'updatedAt'),
  });
  const base = {
    method: 'POST',
    sent: 'keyed',
    mayBeLost: false,
    expected: 'ok',
    stream: () => engineConnectionStream(customerId, slotIdOf(customerId, engineId)),
    answer: ({ state }) =>
      engineConnectionResource(state as EngineConnection, new Map([[home.id, home.name]]), {
        accountsOffset: 0,
        mappingsOffset: 0,
      }),
    lost: () => undefined,
  } satisfies Partial<Choice>;
  const connect: Command = {
    ...base,
    kind: `connect engine ${engineId}`,
    url: path,
    body: { apiKey: `sbx_${key}` },
    status: connection === undefined ? 201 : 200,
    event: connection === undefined ? 'EngineConnected' : 'EngineRekeyed',
    done: (data) => {
      const accounts = (data['accounts'] as readonly { readonly id: string }[]).map(({ id }) => id);
      own.connection = { id: data['id'] as string, mapped: new Set(), ...connection, accounts };
      return reading(data);
    },
  };
  if (connection === undefined) return connect;
  const url = `${path}/${connection.id}`;
  const choice = random.next();
  if (choice < 0.2) {
    return {
      ...base,
      kind: `disconnect engine ${engineId}`,
      method: 'DELETE',
      url,
      status: 204,
      event: 'EngineDisconnected',
      done: () => {
        delete own.connection;
        return { url: `${path}?take=1`, shown: undefined };
      },
    };
  }
  const isWrong = random.chance(REFUSED_PROBABILITY);
  const unselected = connection.accounts.find((id) => id !== connection.selected);
  if (choice < 0.5 && unselected !== undefined) {
    return {
      ...base,
      kind: `select account of engine ${engineId}`,
      url: `${url}/accounts/${isWrong ? 'no-such-account' : unselected}/select`,
      expected: isWrong ? 'refused' : 'ok',
      status: 200,
      event: 'EngineAccountSelected',
      done: (data) => {
        connection.selected = unselected;
        return reading(data);
      },
    };
  }
  const unmapped = connection.accounts.find((id) => !connection.mapped.has(id));
  if (choice < 0.7 && unmapped !== undefined) {
    return {
      ...base,
      kind: `map account of engine ${engineId}`,
      url: `${url}/accounts/${unmapped}/advertiser`,
      body: { advertiserId: home.id },
      status: 201,
      event: 'EngineAccountMapped',
      done: (data) => {
        connection.mapped.add(unmapped);
        return reading(data);
      },
    };
  }
  return connect;
};
