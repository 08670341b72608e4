import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '@modelcontextprotocol/server';
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { apiErrorOf } from '../shared/http/api-error-of.ts';
import type { ToolCall } from './tool.ts';

/** What a client may attach to a conversation: the same objects that `get` reads. */
interface ResourceKind {
  readonly operationId: string;
  readonly title: string;
  readonly description: string;
}

const SCHEME = 'exchange://';
const MIME_TYPE = 'application/json';
const LISTED_MAX = 50;

/** By the first part of the address; the second is the id. */
const kinds: Readonly<Record<string, ResourceKind>> = {
  advertiser: {
    operationId: 'getAdvertiser',
    title: 'Advertiser',
    description: 'A brand that buys: name, brand, currency, status.',
  },
  campaign: {
    operationId: 'getCampaign',
    title: 'Campaign',
    description: 'Budget, flight, targeting and phase of a campaign.',
  },
  creative: {
    operationId: 'getCreativeDetail',
    title: 'Creative',
    description: 'A creative with its assets, campaigns and the decisions of sellers.',
  },
};

const ACCOUNT = { uri: `${SCHEME}account`, name: 'account', title: 'Account', mimeType: MIME_TYPE } as const;

export const resourceTemplates = (): ListResourceTemplatesResult => ({
  resourceTemplates: Object.entries(kinds).map(([name, { title, description }]) => ({
    uriTemplate: `${SCHEME}${name}/{id}`,
    name,
    title,
    description,
    mimeType: MIME_TYPE,
  })),
});

interface Listed {
  readonly id: string | number;
  readonly name: string;
}

/** The account and its advertisers; everything else is found with the tool `search`. */
export const listResources = async ({ invoke }: ToolCall): Promise<ListResourcesResult> => {
  const { data } = await invoke('listAdvertisers', { query: { take: LISTED_MAX } });
  const advertisers = (data as readonly Listed[]).map(({ id, name }) => ({
    uri: `${SCHEME}advertiser/${id}`,
    name: `advertiser ${id}`,
    title: name,
    mimeType: MIME_TYPE,
  }));
  return { resources: [ACCOUNT, ...advertisers] };
};

/** @throws ResourceNotFoundError */
export const readResource = async (uri: string, { invoke }: ToolCall): Promise<ReadResourceResult> => {
  const [, kind = '', id = ''] = /^exchange:\/\/([a-z]+)(?:\/([\w-]+))?$/.exec(uri) ?? [];
  const [operationId, params] =
    uri === ACCOUNT.uri
      ? ['getCurrentAccount', {}]
      : [Object.hasOwn(kinds, kind) && id !== '' ? kinds[kind]?.operationId : undefined, { id }];
  if (operationId === undefined) throw new ResourceNotFoundError(uri);
  try {
    const { data } = await invoke(operationId, { params });
    return { contents: [{ uri, mimeType: MIME_TYPE, text: JSON.stringify(data) }] };
  } catch (error) {
    const { body } = apiErrorOf(error);
    if (body.code === 'NOT_FOUND' || body.code === 'VALIDATION_ERROR') throw new ResourceNotFoundError(uri);
    throw error;
  }
};
