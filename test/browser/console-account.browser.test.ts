import { expect, it } from '@jest/globals';
import { problemsOfAll } from './console-checks.ts';
import { describeConsole } from './console-suite.ts';
import { accountJourneys, accountPages } from './journeys/account.ts';
import { entryJourneys, entryPages } from './journeys/entry.ts';

/** Journeys of people: how they get in, and who has access to the account. */

describeConsole('the console, for its people', (journey) => {
  entryJourneys(journey);
  accountJourneys(journey);

  it('every screen is accessible, light and dark, and fits 390 pixels', async () => {
    const { page, user } = await journey.signedIn();
    const pages = await accountPages(user);
    await journey.goTo(page, '/console');
    expect(await problemsOfAll(page, [...pages, ...entryPages])).toEqual([]);
  });
});
