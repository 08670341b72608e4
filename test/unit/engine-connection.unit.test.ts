import { describe, expect, it } from '@jest/globals';
import type { EngineConnectionEvent } from '../../domain/engines/events.ts';
import {
  connectionIdOf,
  engineConnectionResource,
  maskedKeyOf,
  mappedAdvertisers,
  shownConnectionId,
  type EngineConnection,
} from '../../domain/engines/resource.ts';
import {
  engineConnectionAggregate,
  type ConnectEngine,
  type EngineConnectionCommand,
} from '../../domain/engines/engine-connection.ts';
import { askSandboxEngine } from '../../command/engines/sandbox-engine.ts';
import { createVerifyKey, type AskEngine } from '../../command/engines/verify-key.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(engineConnectionAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;
const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const accounts = (...ids: string[]) => ids.map((id) => ({ id, name: `Account ${id}` }));
const credential = (n: number, ...ids: string[]) => ({
  secretId: uuid(n),
  maskedKey: `****000${n}`,
  accounts: accounts(...ids),
  connectedBy: `api-key:${n}`,
});
const connectionOf = (n: number, ...ids: string[]) => ({
  slotId: uuid(9),
  connectionId: uuid(n),
  customerId: 7,
  engineId: 1,
  ...credential(n, ...ids),
});
const connect = (n: number, wanted?: string, ...ids: string[]): ConnectEngine => ({
  type: 'ConnectEngine',
  now: day(3),
  connection: connectionOf(n, ...ids),
  wanted,
});

const connected: EngineConnectionEvent = {
  type: 'EngineConnected',
  data: connectionOf(1, 'a', 'b'),
  occurredAt: day(1),
};
const rekeyed = (n: number, ...ids: string[]): EngineConnectionEvent => ({
  type: 'EngineRekeyed',
  data: credential(n, ...ids),
  occurredAt: day(3),
});
const selected: EngineConnectionEvent = {
  type: 'EngineAccountSelected',
  data: { accountId: 'a' },
  occurredAt: day(2),
};
const mapping = (n: number, accountId: string, advertiserId: number) => ({
  linkId: uuid(n),
  accountId,
  advertiserId,
});
const mapped = (...of: Parameters<typeof mapping>): EngineConnectionEvent => ({
  type: 'EngineAccountMapped',
  data: mapping(...of),
  occurredAt: day(2),
});
const disconnected: EngineConnectionEvent = { type: 'EngineDisconnected', data: {}, occurredAt: day(2) };
const on = { now: day(3), connectionId: uuid(1) };
const map = (of: ReturnType<typeof mapping>, advertiserIsArchived = false): EngineConnectionCommand => ({
  type: 'MapEngineAccount',
  ...on,
  mapping: of,
  advertiserIsArchived,
});
const stateOf = (...events: EngineConnectionEvent[]): EngineConnection => {
  const state = given(...events).state();
  if (state.status === 'none') throw new Error('nothing there');
  return state;
};

describe('connect', () => {
  it('creates a connection if none is live', () => {
    const events = [{ type: 'EngineConnected', data: connectionOf(2, 'a'), occurredAt: day(3) }] as const;
    given()
      .when(connect(2, undefined, 'a'))
      .then(...events);
    given(connected, disconnected)
      .when(connect(2, undefined, 'a'))
      .then(...events);
  });
  it('gives the live connection the key, with or without its id', () => {
    for (const wanted of [undefined, uuid(1)]) {
      given(connected)
        .when(connect(2, wanted, 'a'))
        .then(rekeyed(2, 'a'));
    }
    const state = stateOf(connected, rekeyed(2, 'a'));
    expect([state.connectionId, state.secretId, state.replacedSecretId]).toEqual([uuid(1), uuid(2), uuid(1)]);
  });
  it('refuses the id of another connection', () => {
    for (const history of [[], [connected, disconnected]]) {
      given(...history)
        .when(connect(2, uuid(1)))
        .thenRefused({ reason: 'not-found' });
    }
    given(connected)
      .when(connect(2, uuid(3)))
      .thenRefused({ reason: 'not-found' });
  });
  it('removes mappings of accounts that the new key does not contain', () => {
    const history = [connected, selected, mapped(5, 'a', 11), mapped(6, 'b', 12)];
    const after = stateOf(...history, rekeyed(2, 'c', 'a'));
    expect([after.selectedAccountId, after.mappings]).toEqual(['a', [mapping(5, 'a', 11)]]);
    const gone = stateOf(...history, rekeyed(2, 'b'));
    expect([gone.selectedAccountId, gone.mappings]).toEqual([undefined, [mapping(6, 'b', 12)]]);
  });
  it('never has a change before its creation, even if clocks differ', () => {
    expect(stateOf({ ...connected, occurredAt: day(4) }, rekeyed(2)).updatedAt).toBe(day(4));
  });
});

describe('on the live connection', () => {
  it('selects an account once', () => {
    const select = (accountId: string) => ({ type: 'SelectEngineAccount', ...on, accountId }) as const;
    given(connected)
      .when(select('a'))
      .then({ ...selected, occurredAt: day(3) });
    given(connected, selected).when(select('a')).thenNothing();
    given(connected, selected)
      .when(select('b'))
      .then({ type: 'EngineAccountSelected', data: { accountId: 'b' }, occurredAt: day(3) });
    given(connected).when(select('c')).thenRefused({ reason: 'unknown-account' });
  });
  it('maps an account to one advertiser at a time', () => {
    const event = { ...mapped(5, 'a', 11), occurredAt: day(3) };
    given(connected)
      .when(map(mapping(5, 'a', 11)))
      .then(event);
    given(connected, mapped(5, 'a', 11))
      .when(map(mapping(6, 'a', 11)))
      .thenNothing();
    expect(stateOf(connected, mapped(5, 'a', 11), mapped(6, 'a', 12)).mappings).toEqual([
      mapping(6, 'a', 12),
    ]);
    given(connected)
      .when(map(mapping(5, 'c', 11)))
      .thenRefused({ reason: 'unknown-account' });
    given(connected)
      .when(map(mapping(5, 'a', 11), true))
      .thenRefused({ reason: 'advertiser-archived' });
  });
  it('disconnects', () => {
    given(connected)
      .when({ type: 'DisconnectEngine', ...on })
      .then({ ...disconnected, occurredAt: day(3) });
  });
  it('commands are refused without a live connection or for another one', () => {
    const commands: EngineConnectionCommand[] = [
      { type: 'SelectEngineAccount', ...on, accountId: 'a' },
      map(mapping(5, 'a', 11)),
      { type: 'DisconnectEngine', ...on },
    ];
    const other: EngineConnectionEvent = {
      type: 'EngineConnected',
      data: connectionOf(2, 'a'),
      occurredAt: day(2),
    };
    for (const command of commands) {
      for (const history of [[], [connected, disconnected], [connected, disconnected, other]]) {
        given(...history)
          .when(command)
          .thenRefused({ reason: 'not-found' });
      }
    }
  });
});

describe('the resource', () => {
  it('shows a page of accounts and mappings with the next offset', () => {
    const ids = Array.from({ length: 120 }, (_, n) => `account-${n}`);
    const many: EngineConnectionEvent = { ...connected, data: connectionOf(1, ...ids) };
    const all = stateOf(many, ...ids.slice(0, 51).map((id, n) => mapped(5, id, n + 1)));
    const page = (accountsOffset: number, mappingsOffset: number) => {
      const offsets = { accountsOffset, mappingsOffset };
      return engineConnectionResource(all, new Map([[1, 'One']]), offsets);
    };
    const first = page(0, 0);
    expect([first.accounts.length, first.accountsPage]).toEqual([50, { offset: 0, nextOffset: 50 }]);
    expect([first.accountMappings.length, first.accountMappingsPage]).toEqual([
      50,
      { offset: 0, nextOffset: 50 },
    ]);
    expect(first.accountMappings[0]?.advertiserName).toBe('One');
    const last = page(100, 50);
    expect([last.accounts.length, last.accountsPage]).toEqual([20, { offset: 100 }]);
    expect([last.accountMappings.length, last.accountMappingsPage]).toEqual([1, { offset: 50 }]);
    expect(page(50, 51)).toMatchObject({
      accountsPage: { offset: 50, nextOffset: 100 },
      accountMappings: [],
      accountMappingsPage: { offset: 51 },
    });
    expect(mappedAdvertisers(all, { accountsOffset: 0, mappingsOffset: 50 })).toEqual([51]);
    expect(connectionIdOf(first.id)).toBe(uuid(1));
    expect(shownConnectionId(uuid(1))).toBe(first.id);
  });
  it('shows the last four characters of a key, and none if the key is short', () => {
    for (const key of ['a', 'sbx_4567890']) expect(maskedKeyOf(key)).toBe('********');
    for (const key of ['sbx_45678901', `sbx_${'x'.repeat(4_088)}8901`])
      expect(maskedKeyOf(key)).toBe('****8901');
  });
});

describe('a key', () => {
  const verifyBy = (ask: AskEngine, timeoutMs = 20) =>
    createVerifyKey({ engines: new Map([[1, ask]]), timeoutMs });
  const refusal = (verifying: Promise<unknown>) =>
    verifying.then(
      () => 'taken',
      (error: unknown) =>
        error instanceof ApiError ? [error.body.code, error.body.field, error.hadNoEffect] : error,
    );

  it('is checked by the engine, if the engine supports it', async () => {
    const verify = verifyBy(askSandboxEngine);
    expect(await verify(1, 'sbx_any')).toHaveLength(3);
    expect(await verify(1, 'sbx_accounts-51_x')).toHaveLength(51);
    expect(await refusal(verify(1, 'any'))).toEqual(['VALIDATION_ERROR', 'apiKey', true]);
    expect(await verify(2, 'any')).toEqual([]);
  });
  it('is checked within a time limit; the refusal does not contain the error of the engine', async () => {
    const away = ['SERVICE_UNAVAILABLE', undefined, true];
    expect(await refusal(verifyBy(() => new Promise(() => undefined))(1, 'k'))).toEqual(away);
    const failing = verifyBy(async (key) => Promise.reject(new Error(`cannot log in with ${key}`)));
    expect(await refusal(failing(1, 'secret'))).toEqual(away);
  });
  it('keeps each of its storable accounts once', async () => {
    const odd = ['', 'x'.repeat(101), 'a\u0000', '\ud800', 'a', 'a'];
    const names = [
      { id: 'b', name: '\u0000' },
      { id: 'c', name: `\ud800${'👋'.repeat(300)}` },
    ];
    const all = [...accounts(...odd), ...names];
    const verify = verifyBy(async () => ({ outcome: 'accepted', accounts: all }));
    expect(await verify(1, 'k')).toEqual([
      ...accounts('a'),
      { id: 'b', name: 'b' },
      { id: 'c', name: `\ufffd${'👋'.repeat(199)}` },
    ]);
    const many = Array.from({ length: 600 }, (_, n) => String(n));
    const much = verifyBy(async () => ({ outcome: 'accepted', accounts: accounts(...many) }));
    expect(await much(1, 'k')).toHaveLength(500);
  });
});
