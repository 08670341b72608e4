import type { ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { SignedUp } from '../../support/person.ts';
import { startWebhookReceiver, type ReceivedWebhook } from '../../support/webhook-receiver.ts';
import { MARKUP, type ConsoleJourney } from '../console-journey.ts';

const path = '/api/v2/buyer/webhook-subscriptions';

/** @returns the pages of a webhook with one delivery, which the address refuses to accept */
export const webhookPages = async ({ person }: SignedUp): Promise<readonly string[]> => {
  const created = await person.post<{ subscription: { id: string } }>(path, {
    url: 'http://127.0.0.1:9/hook',
    eventTypes: ['campaign.*'],
    description: MARKUP,
  });
  const { id } = created.body.data.subscription;
  const test = await person.post<{ deliveryId: string }>(`${path}/${id}/test`, { type: 'campaign.created' });
  return [
    '/webhooks',
    `/webhooks/${id}`,
    `/webhooks/${id}?tab=change`,
    `/webhooks/${id}?delivery=${test.body.data.deliveryId}`,
  ];
};

export const webhookJourneys = ({ signedIn, goTo }: ConsoleJourney): void => {
  it('a webhook: created, its secret shown once, a test event arrives signed, and the log shows what came back', async () => {
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => response.writeHead(500).end(MARKUP),
    ];
    const receiver = await startWebhookReceiver((_, response) => {
      const answer = answers.shift() ?? ((one) => one.writeHead(200).end('thanks'));
      answer(response);
    });
    try {
      const { page } = await signedIn();
      await goTo(page, '/console/webhooks');
      await page.getByRole('button', { name: 'New webhook' }).first().click();
      await page.getByLabel('Address').fill(receiver.url);
      await page.getByLabel('Description').fill(MARKUP);
      await page.getByRole('button', { name: 'Create' }).click();
      const secret = (await page.getByLabel('Signing secret').last().textContent()) ?? '';
      expect(secret).toMatch(/^whsec_/);
      await page.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByRole('heading', { name: receiver.url }).waitFor();
      await page.getByText('Nothing was sent yet.').waitFor();

      await page.getByRole('button', { name: 'Send a test event' }).click();
      await page.getByLabel('Kind').selectOption('campaign.created');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      const log = page.getByRole('table', { name: 'deliveries' });
      await log.getByRole('row', { name: /campaign\.created due 500/ }).waitFor();
      const [{ body, headers }] = receiver.received as [ReceivedWebhook];
      new Webhook(secret).verify(body.toString(), headers as Record<string, string>);

      await log.getByRole('button', { name: 'campaign.created' }).click();
      const panel = page.getByRole('dialog');
      await panel.getByRole('group', { name: 'Attempt 1' }).getByText(MARKUP).waitFor();
      await panel.getByText(`"messageId": "${String(headers['webhook-id'])}"`).waitFor();
      await panel.getByRole('button', { name: 'Deliver again' }).click();
      await panel.getByRole('group', { name: 'Attempt 2' }).getByText('thanks').waitFor();
      await panel.getByRole('button', { name: 'Close' }).click();
      await log.getByRole('row', { name: /campaign\.created delivered 200/ }).waitFor();
      expect(await page.title()).not.toBe('ran');
      await page.reload();
      await log.waitFor();
      expect(await page.getByText(secret).count()).toBe(0);
    } finally {
      await receiver.stop();
    }
  });

  it('a webhook is disabled, enabled, rotated, recovered, replayed, changed and deleted', async () => {
    const receiver = await startWebhookReceiver();
    try {
      const { page, user } = await signedIn();
      await user.person.post('/api/v2/buyer/advertisers', { name: 'Before the webhook' });
      const made = await user.person.post<{ subscription: { id: string }; secret: string }>(path, {
        url: receiver.url,
        eventTypes: ['advertiser.created'],
      });
      const { subscription, secret } = made.body.data;
      await goTo(page, `/console/webhooks/${subscription.id}`);
      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('alert').getByText('Paused by a request.').waitFor();
      await page.getByRole('button', { name: 'Enable' }).click();
      await page.getByRole('button', { name: 'Disable' }).waitFor();

      const choose = async (name: string): Promise<void> => {
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name }).click();
      };
      await choose('Replay a period');
      await page.getByRole('button', { name: 'Replay', exact: true }).click();
      await page.getByRole('row', { name: /^advertiser\.created delivered 204/ }).waitFor();
      expect(receiver.received).toHaveLength(1);
      await choose('Recover what failed');
      await page.getByRole('button', { name: 'Deliver what failed' }).click();
      await page.getByText('What failed or was canceled since then is delivered again.').waitFor();

      await choose('Rotate the secret');
      await page.getByRole('button', { name: 'Rotate', exact: true }).click();
      const rotated = await page.getByLabel('New signing secret').last().textContent();
      expect(rotated).toMatch(/^whsec_/);
      expect(rotated).not.toBe(secret);
      await page.getByRole('button', { name: 'I have kept it' }).click();

      await page.getByRole('tab', { name: 'Change' }).click();
      await page.getByLabel('campaign.*', { exact: true }).check();
      await page.getByLabel('Address').fill(receiver.url.replace('/hook', '/other'));
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: '/other' }).waitFor();
      await page.getByRole('tab', { name: 'History' }).click();
      await page.getByText('WebhookSubscriptionUpdated').first().waitFor();

      await choose('Delete');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No program receives events yet.').waitFor();
      const { status } = await user.person.get(`${path}/${subscription.id}`);
      expect(status).toBe(404);
    } finally {
      await receiver.stop();
    }
  });
};
