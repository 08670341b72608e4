import { expect, it } from '@jest/globals';
import { problemsOfAll } from './console-checks.ts';
import { describeConsole } from './console-suite.ts';
import { dataJourneys, dataPages } from './journeys/data.ts';
import { sellerJourneys } from './journeys/sellers.ts';
import { webhookJourneys, webhookPages } from './journeys/webhooks.ts';

/** Journeys through what goes out and comes back: syndication, conversions, events, webhooks, sellers. */

describeConsole(
  'the console, for its data',
  (journey) => {
    webhookJourneys(journey);
    const { agentUrl } = dataJourneys(journey);
    sellerJourneys(journey);

    it('every screen of webhooks, agents, audiences and catalogs is accessible, light and dark, and fits 390 pixels', async () => {
      const { page, user } = await journey.signedIn();
      const pages = [...(await webhookPages(user)), ...(await dataPages(user, agentUrl()))];
      await journey.goTo(page, '/console');
      expect(await problemsOfAll(page, pages)).toEqual([]);
    });
  },
  { DELIVERY_REPORT_SECONDS: '1', PROPOSAL_SELLER_MS: '20000' },
);
