import { describe, expect, it } from '@jest/globals';
import { ConfigError, limitsOf, readConfig } from '../../app/config.ts';
import { conversionsMemoryBytes, refuseTooMuchMemory } from '../../app/conversions-memory.ts';
import { specifiedLimits } from '../../shared/limits/limits.ts';

describe('the configuration', () => {
  it('has defaults for all settings', () =>
    expect(readConfig({})).toMatchObject({
      NODE_ENV: 'development',
      PORT: 3000,
      DATA_DIR: '.data',
      ROLES: ['api', 'projector', 'worker'],
    }));
  it('removes a slash at the end of the service address', () =>
    expect(readConfig({ BASE_URL: 'https://api.example.com/' }).BASE_URL).toBe('https://api.example.com'));
  it('treats an empty variable as not set', () => expect(readConfig({ PORT: '' }).PORT).toBe(3000));
  it.each([
    ['PORT', '70000'],
    ['PORT', '3e3'],
    ['ROLES', 'api,cook'],
    ['ROLES', ','],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'postgres:localhost/x'],
    ['BASE_URL', 'https:api.example.com'],
    ['DATABASE_POOL_MAX', '0'],
    ['NODE_ENV', 'prod'],
    ['LOG_LEVEL', 'loud'],
    ['EVENTSTORE_URL', 'http://localhost:2113'],
    ['EVENTSTORE_URL', 'esdb://localhost:2113?nodePreference=follower'],
    ['EVENTSTORE_URL', 'esdb://localhost:2113?tls=maybe'],
    ['EVENTSTORE_URL', 'esdb://localhost:2113?throwOnAppendFailure=false'],
    ['EVENTSTORE_URL', 'esdb://localhost:2113?keepAliveInterval=soon'],
    ['REDIS_URL', 'http://localhost'],
    ['REDIS_KEY_PREFIX', 'a b'],
    ['TRUSTED_PROXIES', 'true'],
    ['TRUSTED_PROXIES', '0.0.0.0/0'],
    ['LIMIT_CREDENTIAL', '0'],
    ['LIMIT_CREDENTIAL', '100/0'],
    ['LIMIT_ADDRESS', '20 per hour'],
    ['LIMIT_AUTH', '0'],
    ['LIMIT_SIGN_UP', '0'],
    ['LIMIT_PASSWORD_RESET', '0'],
    ['LIMIT_CLIENT_REGISTRATION', '0'],
    ['LIMIT_TOKEN', '0'],
    ['LIMIT_INVITATIONS', '0'],
    ['LIMIT_INVITED_ADDRESS', '0'],
    ['LIMIT_NODES', '0'],
    ['DRAIN_DELAY_MS', '60001'],
    ['UPLOADS_OPEN_MAX', '0'],
    ['CONNECTIONS_MAX', '0'],
  ])('names the setting in the error: %s=%s', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^  ${name}`, 'm'));
  });
  it.each([
    'esdb://localhost:2113?tls=false',
    'esdb://localhost',
    'esdb://admin:changeit@one:2113,two:2113,three:2113?tls=true&nodePreference=leader',
    'esdb+discover://admin:s%40cret@cluster.example.com/?keepAliveInterval=10000&tlsCAFile=ca.crt',
  ])('accepts EVENTSTORE_URL %s', (url) =>
    expect(readConfig({ EVENTSTORE_URL: url }).EVENTSTORE_URL).toBe(url),
  );

  it('has the limits of the specification as defaults, and each can be changed', () => {
    expect(limitsOf(readConfig({}))).toEqual(specifiedLimits);
    expect(limitsOf(readConfig({ LIMIT_ADDRESS: '5', LIMIT_UNVERIFIED: '7/30' }))).toEqual({
      ...specifiedLimits,
      address: { requests: 5, windowSeconds: 60 },
      unverified: { requests: 7, windowSeconds: 30 },
    });
  });
  it('trusts no proxy by default', () => {
    expect(readConfig({}).TRUSTED_PROXIES).toEqual({ hops: 0 });
    expect(readConfig({ TRUSTED_PROXIES: '2' }).TRUSTED_PROXIES).toEqual({ hops: 2 });
  });
  it('never shows a wrong value, because it may contain a password', () => {
    const wrong = [
      { DATABASE_URL: 'mysql://me:hunter2@host/db' },
      { EVENTSTORE_URL: 'esdb://me:hunter2@host:port' },
      { EVENTSTORE_URL: 'esdb://me:hunter2@host?secret=hunter2' },
      { EVENTSTORE_URL: 'esdb://me:hunter2@host?hunter2' },
      { EVENTSTORE_URL: 'esdb://me:hun:ter2@host?tls=hunter2' },
    ];
    expect.assertions(wrong.length);
    for (const environment of wrong) {
      try {
        readConfig(environment);
      } catch (error) {
        expect(String(error)).not.toContain('hunter2');
      }
    }
  });
});

describe('the memory for conversion events', () => {
  const MIB = 2 ** 20;
  const api = readConfig({ ROLES: 'api' });
  it.each([
    [16_384, 512],
    [768, 192],
  ])('given %d MB of memory and no setting, it is %d MB', (available, chosen) => {
    expect(conversionsMemoryBytes(api, available * MIB)).toBe(chosen * MIB);
    expect(() => refuseTooMuchMemory(api, available * MIB)).not.toThrow();
  });
  it('is refused at the start above half of the memory of the container', () => {
    const config = readConfig({ ROLES: 'api', CONVERSIONS_MEMORY_MB: '512' });
    expect(() => refuseTooMuchMemory(config, 768 * MIB)).toThrow(
      /^CONVERSIONS_MEMORY_MB: must be at most 384, half of the 768 MB/,
    );
    expect(() => refuseTooMuchMemory(config, 1_024 * MIB)).not.toThrow();
    expect(() => refuseTooMuchMemory({ ...config, ROLES: ['worker'] }, 768 * MIB)).not.toThrow();
  });
});
