import type { ComponentType } from 'react';

export interface Screen {
  /** Below `/console`, e.g. `/campaigns/$id`. */
  readonly path: string;
  /** In the navigation and in the search. Pages of one object have none. */
  readonly label?: string;
  readonly section?: Section;
  /** Other people do not see it in the navigation. */
  readonly needs?: 'admin';
  /** It shows the data of one advertiser, which stays chosen from one such screen to the next. */
  readonly isOfAdvertiser?: true;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

export const sections = ['Advertising', 'Data', 'Watch', 'Account'] as const;
export type Section = (typeof sections)[number];

/** Every screen for a signed-in person, in the order of the navigation. Each is loaded when it is opened. */
export const screens: readonly Screen[] = [
  { path: '/', label: 'Home', load: () => import('../screens/home.tsx') },
  {
    path: '/advertisers',
    label: 'Advertisers',
    section: 'Advertising',
    load: () => import('../screens/advertisers.tsx'),
  },
  { path: '/advertisers/$id', load: () => import('../screens/advertiser.tsx') },
  {
    path: '/campaigns',
    label: 'Campaigns',
    section: 'Advertising',
    load: () => import('../screens/campaign/campaigns.tsx'),
  },
  { path: '/campaigns/$id', load: () => import('../screens/campaign/campaign.tsx') },
  {
    path: '/campaigns/$id/proposal-requests/$executionId',
    load: () => import('../screens/campaign/proposal-request.tsx'),
  },
  {
    path: '/creatives',
    label: 'Creatives',
    section: 'Advertising',
    isOfAdvertiser: true,
    load: () => import('../screens/creatives.tsx'),
  },
  { path: '/creatives/$cid', load: () => import('../screens/creative.tsx') },
  {
    path: '/library',
    label: 'Library',
    section: 'Advertising',
    isOfAdvertiser: true,
    load: () => import('../screens/library.tsx'),
  },
  { path: '/assets/$advertiserId/$id', load: () => import('../screens/asset.tsx') },
  {
    path: '/syndication',
    label: 'Syndication',
    section: 'Data',
    isOfAdvertiser: true,
    load: () => import('../screens/syndication.tsx'),
  },
  { path: '/syndication/$advertiserId/$recordId', load: () => import('../screens/syndication-record.tsx') },
  { path: '/audiences/$advertiserId/$id', load: () => import('../screens/audience.tsx') },
  { path: '/catalogs/$advertiserId/$id', load: () => import('../screens/catalog.tsx') },
  { path: '/agents/$id', load: () => import('../screens/agent.tsx') },
  {
    path: '/conversions',
    label: 'Conversions',
    section: 'Data',
    isOfAdvertiser: true,
    load: () => import('../screens/conversions.tsx'),
  },
  { path: '/event-sources/$key', load: () => import('../screens/event-source.tsx') },
  {
    path: '/events',
    label: 'Live events',
    section: 'Watch',
    load: () => import('../screens/events.tsx'),
  },
  {
    path: '/audit-log',
    label: 'Audit log',
    section: 'Watch',
    needs: 'admin',
    load: () => import('../screens/audit-log.tsx'),
  },
  {
    path: '/webhooks',
    label: 'Webhooks',
    section: 'Watch',
    load: () => import('../screens/webhooks/webhooks.tsx'),
  },
  { path: '/webhooks/$id', load: () => import('../screens/webhooks/webhook.tsx') },
  { path: '/limits', label: 'Limits', section: 'Watch', load: () => import('../screens/limits.tsx') },
  {
    path: '/system',
    label: 'System',
    section: 'Watch',
    needs: 'admin',
    load: () => import('../screens/system.tsx'),
  },
  {
    path: '/members',
    label: 'Members',
    section: 'Account',
    load: () => import('../screens/account/members.tsx'),
  },
  { path: '/members/$id', load: () => import('../screens/account/member.tsx') },
  { path: '/invitations/$id', load: () => import('../screens/account/invitation.tsx') },
  {
    path: '/api-keys',
    label: 'API keys',
    section: 'Account',
    needs: 'admin',
    load: () => import('../screens/account/api-keys.tsx'),
  },
  { path: '/api-keys/$id', load: () => import('../screens/account/api-key.tsx') },
  {
    path: '/connected-apps',
    label: 'Connected apps',
    section: 'Account',
    load: () => import('../screens/account/connected-apps.tsx'),
  },
  { path: '/connected-apps/$id', load: () => import('../screens/account/connected-app.tsx') },
  {
    path: '/browser-origins',
    label: 'Browser origins',
    section: 'Account',
    needs: 'admin',
    load: () => import('../screens/account/browser-origins.tsx'),
  },
  { path: '/browser-origins/$id', load: () => import('../screens/account/browser-origin.tsx') },
  {
    path: '/account',
    label: 'Your account',
    section: 'Account',
    load: () => import('../screens/account/account.tsx'),
  },
  { path: '/requests/$requestId', load: () => import('../screens/request.tsx') },
];
