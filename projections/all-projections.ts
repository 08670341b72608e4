import { advertisersProjection } from './advertisers.ts';
import { agentsProjection } from './agents.ts';
import { assetsProjection } from './assets.ts';
import { audiencesProjection } from './audiences.ts';
import { auditProjection } from './audit.ts';
import { campaignsProjection } from './campaigns.ts';
import { catalogFeedsProjection } from './catalog-feeds.ts';
import { catalogsProjection } from './catalogs.ts';
import { conversionsProjection } from './conversions.ts';
import { creativeSessionsProjection } from './creative-sessions.ts';
import { creativeSubmissionsProjection } from './creative-submissions.ts';
import { creativesProjection } from './creatives.ts';
import { credentialsProjection } from './credentials.ts';
import type { Projection } from './engine/projection.ts';
import { engineConnectionsProjection } from './engine-connections.ts';
import { eventSourcesProjection } from './event-sources.ts';
import { notificationsProjection } from './notifications.ts';
import { proposalsProjection } from './proposals.ts';
import { sellerDeliveryProjection } from './seller-delivery.ts';
import { sellersProjection } from './sellers.ts';
import { syndicationProjection } from './syndication.ts';
import { webhookFanOut } from './webhook-fan-out.ts';
import { webhookSubscriptionsProjection } from './webhook-subscriptions.ts';

export const allProjections: readonly Projection[] = [
  advertisersProjection,
  credentialsProjection,
  eventSourcesProjection,
  audiencesProjection,
  catalogsProjection,
  catalogFeedsProjection,
  conversionsProjection,
  agentsProjection,
  syndicationProjection,
  campaignsProjection,
  creativesProjection,
  creativeSubmissionsProjection,
  sellersProjection,
  proposalsProjection,
  sellerDeliveryProjection,
  creativeSessionsProjection,
  assetsProjection,
  engineConnectionsProjection,
  webhookSubscriptionsProjection,
  auditProjection,
  webhookFanOut,
  notificationsProjection,
];
