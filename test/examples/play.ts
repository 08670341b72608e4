import { createExchanges, withKey, type Exchanges } from './exchanges.ts';
import {
  CATALOG,
  connectEngine,
  createAdvertisers,
  createCampaigns,
  createCreatives,
  holdSession,
  measure,
  reviewCreatives,
  runCampaign,
  syncLists,
  syndicate,
  uploadAssets,
} from './scenario-buying.ts';
import { administerWebhooks, receive, repeatDeliveries, subscribe } from './scenario-notifications.ts';
import { connectApp } from './scenario-oauth.ts';
import { administer, invitePeople, openAccount, setUpSignIn, usePassword } from './scenario-people.ts';
import { readAuditLog, readDocuments, readHistory, useTools } from './scenario-reading.ts';
import type { Scenario } from './scenario.ts';

type Parts = Omit<Scenario, 'call' | 'until'>;

/** Visits every operation once, as a new customer would. */
export const playScenario = async (parts: Parts): Promise<Exchanges> => {
  const exchanges = await playCustomer(parts);
  await readDocuments({ ...parts, ...exchanges });
  return exchanges;
};

/** Visits every operation but documents. */
export const playCustomer = async (parts: Parts): Promise<Exchanges> => {
  let send = (url: string, init: RequestInit): Promise<Response> => fetch(url, init);
  const exchanges = await createExchanges(parts.baseUrl, () => send);
  const scenario: Scenario = { ...parts, call: exchanges.call, until: exchanges.until };
  const { jane, customerId, key, apiKeyId } = await openAccount(scenario);
  send = withKey(key);
  const people = await invitePeople(scenario);
  const subscriptionId = await subscribe(scenario);
  const advertiserId = await createAdvertisers(scenario);
  await measure(scenario, advertiserId);
  const taskId = await syncLists(scenario, advertiserId);
  const syndicated = await syndicate(scenario, advertiserId);
  const campaigns = await createCampaigns(scenario, advertiserId);
  const deliveryId = await receive(scenario, subscriptionId);
  const assetId = await uploadAssets(scenario, advertiserId);
  const bought = { advertiserId, ...campaigns, assetId };
  const creativeId = await createCreatives(scenario, bought);
  await reviewCreatives(scenario, creativeId);
  const engine = await connectEngine(scenario, advertiserId);
  const sessionId = await holdSession(scenario, campaigns.campaignId);
  const executionId = await runCampaign(scenario, bought, creativeId);
  await repeatDeliveries(scenario, subscriptionId, deliveryId);
  await administerWebhooks(scenario, subscriptionId);
  const app = await connectApp(scenario, jane);
  const administered = await administer(scenario);
  const session = await usePassword(scenario, jane);
  await setUpSignIn(scenario, customerId);
  const made = {
    ...bought,
    ...people,
    ...syndicated,
    ...app,
    ...administered,
    creativeId,
    sessionId,
    taskId,
    executionId,
    engine,
    subscriptionId,
    apiKeyId,
    catalogId: CATALOG,
    signInSessionId: session.sessionId,
  };
  await readHistory(scenario, made);
  await readAuditLog(scenario, made);
  await scenario.call('removeMember', { path: { userId: people.userId } });
  await useTools(scenario, send);
  return exchanges;
};
