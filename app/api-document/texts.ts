import type { ApiTexts, TagText } from '../../shared/http/openapi.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { readExamples } from './examples.ts';
import { guideAddress } from './guides.ts';
import { memberDescriptions } from './member-descriptions.ts';

interface Tag {
  readonly description: string;
  /** Name of a file in `docs/guides/`. */
  readonly guide?: string;
}

const tags: Readonly<Record<string, Tag>> = {
  Accounts: {
    description: 'The account of the credential, its users and what they may do.',
    guide: 'access',
  },
  'API keys': { description: 'Credentials of programs.', guide: 'access' },
  'Browser origins': {
    description: 'Pages of other origins that may call the API from a browser.',
    guide: 'access',
  },
  'Sign-in': { description: 'Accounts, passwords, second factors and sessions of people.', guide: 'sign-in' },
  OAuth: { description: 'OAuth 2.1 for apps and agents that act for a person.', guide: 'oauth' },
  MCP: { description: 'The Model Context Protocol for agents.', guide: 'connect-an-agent' },
  Advertisers: { description: 'Brands that buy. Everything else belongs to one.', guide: 'requests' },
  Campaigns: {
    description: 'What is bought: budget, flight, phase; proposals of sellers for it.',
    guide: 'campaigns',
  },
  Creatives: { description: 'Ads, their library, and what sellers decide about them.', guide: 'creatives' },
  'Creative sessions': { description: 'Ads that an engine makes in rounds.', guide: 'creative-sessions' },
  Storefronts: { description: 'Engines that make or check ads, and their credentials.', guide: 'engines' },
  Assets: { description: 'Images, videos and texts that ads are made of.', guide: 'assets' },
  'Event Sources': {
    description: 'Where conversion events come from, and the events.',
    guide: 'conversions',
  },
  Audiences: { description: 'People that ads are for, as hashed identifiers.', guide: 'audiences' },
  Catalogs: { description: 'Products and other items, in parts or as a feed.', guide: 'syncs' },
  'AdCP Agents': { description: 'Other platforms that audiences and so on are sent to.', guide: 'agents' },
  Syndication: { description: 'What is sent to which agent, and where it stands.', guide: 'syndication' },
  Tasks: { description: 'Work that goes on after its request was answered.', guide: 'syncs' },
  Reporting: { description: 'What campaigns delivered.', guide: 'reporting' },
  Events: { description: 'What happened, as a list or a stream.', guide: 'realtime' },
  Webhooks: { description: 'What happened, sent to an address of yours.', guide: 'webhooks' },
  'Audit log': { description: 'Who changed what, when, and by which request.', guide: 'audit-log' },
  Console: { description: 'Pages for people.' },
  Documents: { description: 'This document and others, for people and programs.' },
  Service: { description: 'Health of the service, for operators and load balancers.' },
};

const shownTag = ({ description, guide }: Tag, baseUrl: string): TagText => ({
  description,
  ...(guide !== undefined && { guide: guideAddress(baseUrl, guide) }),
});

export const apiTexts = (limits: Limits, baseUrl: string): ApiTexts => ({
  tags: Object.fromEntries(Object.entries(tags).map(([name, tag]) => [name, shownTag(tag, baseUrl)])),
  members: memberDescriptions,
  examples: readExamples(baseUrl),
  limits,
});
