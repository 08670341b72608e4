import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '../../src/shared/config.ts';

describe('the configuration', () => {
  it('needs nothing', () =>
    expect(readConfig({})).toMatchObject({
      NODE_ENV: 'development',
      PORT: 3000,
      DATA_DIR: '.data',
      ROLES: ['api', 'projector', 'worker'],
    }));
  it('takes an empty variable as not set', () => expect(readConfig({ PORT: '' }).PORT).toBe(3000));
  it.each([
    ['PORT', '70000'],
    ['PORT', '3e3'],
    ['ROLES', 'api,cook'],
    ['ROLES', ','],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_POOL_MAX', '0'],
    ['NODE_ENV', 'prod'],
    ['LOG_LEVEL', 'loud'],
    ['EVENTSTORE_URL', 'esdb://localhost:2113'],
    ['REDIS_URL', 'http://localhost'],
  ])('names %s when it is %s', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^  ${name}`, 'm'));
  });
  it('never shows a wrong value: it may hold a password', () => {
    expect.assertions(1);
    try {
      readConfig({ DATABASE_URL: 'mysql://me:hunter2@host/db' });
    } catch (error) {
      expect(String(error)).not.toContain('hunter2');
    }
  });
});
