import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { describeInChromium, startChromium, type Chromium } from './chromium.ts';

const bundled = async (): Promise<string> => {
  const options = ['--bundle', '--format=iife', '--global-name=client', '--platform=browser'];
  const bundler = join(packageDirectory, 'node_modules/.bin/esbuild');
  return (await promisify(execFile)(bundler, ['client/src/index.ts', ...options])).stdout;
};

/** The client in a page of the service: it is bundled for browsers, and uses nothing of Node.js. */
describeInChromium('the client in a browser', (path) => {
  let service: RunningService;
  let chromium: Chromium;
  beforeAll(async () => {
    [service, chromium] = await Promise.all([startRunningService(), startChromium(path)]);
  });
  afterAll(() => Promise.all([chromium.close(), service.stop()]));

  it('calls, uploads with progress, and takes no key that is a text', async () => {
    const { apiKey } = await service.openAccount();
    const tab = await chromium.open();
    await tab.goTo(`${service.baseUrl}/console/sign-in`);
    const said = await tab.evaluate(`(async () => {
      ${await bundled()};
      let refused = '';
      try { client.createClient({ apiKey: 'a text' }); } catch (error) { refused = error.name; }
      const exchange = client.createClient({ apiKey: () => '${apiKey}' });
      const { id } = await exchange.post('/advertisers', { body: { name: 'Acme' } });
      const progress = [];
      const bytes = new Blob([Uint8Array.from(atob('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'), (c) => c.charCodeAt(0))]);
      const onProgress = ({ sentBytes, totalBytes }) => progress.push(sentBytes / totalBytes);
      const stored = await exchange.uploadAsset(id, { name: 'pixel.gif', mimeType: 'image/gif', bytes, onProgress });
      const { value } = await exchange.listen({ topics: ['advertiser.*'], since: 'earliest' }).next();
      return [refused, stored.bytes, progress.at(-1), value.type];
    })()`);
    expect(said).toEqual(['TypeError', 42, 1, 'advertiser.created']);
  });

  it('without a key, acts for the person who has signed in, by the cookie', async () => {
    const tab = await chromium.open();
    await tab.goTo(`${service.baseUrl}/console/sign-in`);
    const said = await tab.evaluate(`(async () => {
      ${await bundled()};
      const exchange = client.createClient();
      const refusal = () => exchange.get('/advertisers').then(() => 'none', ({ status, code }) => status + ' ' + code);
      const body = { email: 'ann@ann.example', password: 'correct horse battery' };
      const before = await refusal();
      const { customerId } = await exchange.post('/auth/signup', { body: { ...body, company: 'Widgets' } });
      const { name } = await exchange.post('/advertisers', { body: { name: 'Acme' } });
      const { email, role } = await exchange.get('/api/v2/accounts/current/user');
      await exchange.post('/auth/sign-out');
      const after = await refusal();
      const again = await exchange.post('/auth/sign-in', { body });
      const { items } = await exchange.page('/advertisers');
      return [before, name, email, role, after, again.customerId === customerId, items.length];
    })()`);
    const refused = '401 UNAUTHORIZED';
    expect(said).toEqual([refused, 'Acme', 'ann@ann.example', 'admin', refused, true, 1]);
  });
});
