import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '@modelcontextprotocol/server';
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { compile, match } from 'path-to-regexp';
import { apiErrorOf } from '../shared/http/api-error-of.ts';
import type { ToolCall } from './tool.ts';

/** What a client may attach to a conversation, and follow: the same objects that `get` reads. */
interface ResourceKind {
  readonly operationId: string;
  /** Of the address, as `path-to-regexp` has them. */
  readonly address: string;
  /** Of the read. */
  readonly path: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
}

const SCHEME = 'exchange://';
const MIME_TYPE = 'application/json';
const LISTED_MAX = 50;
/** Followed addresses are stored. */
const URI_LENGTH_MAX = 1_000;
const API = '/api/v2/buyer';

const kinds: readonly ResourceKind[] = [
  {
    operationId: 'getAdvertiser',
    address: 'advertiser/:id',
    path: `${API}/advertisers/:id`,
    name: 'advertiser',
    title: 'Advertiser',
    description: 'A brand that buys: name, brand, currency, status.',
  },
  {
    operationId: 'getCampaign',
    address: 'campaign/:id',
    path: `${API}/campaigns/:id`,
    name: 'campaign',
    title: 'Campaign',
    description: 'Name, brief, budget, flight and phase of a campaign.',
  },
  {
    operationId: 'getCreativeDetail',
    address: 'creative/:id',
    path: `${API}/creatives/:id/detail`,
    name: 'creative',
    title: 'Creative',
    description: 'A creative with its assets, campaigns and the decisions of sellers.',
  },
  {
    operationId: 'getProposalRequest',
    address: 'campaign/:id/proposal-request/:executionId',
    path: `${API}/campaigns/:id/proposal-requests/:executionId`,
    name: 'proposal-request',
    title: 'Proposal request',
    description: 'What sellers offer for a campaign. It is updated when the last seller has answered.',
  },
];

type Parameters = Record<string, string>;

const addresses = kinds.map(({ address, path, operationId }) => ({
  operationId,
  parametersIn: match<Parameters>(address, { decode: false }),
  ofPath: match<Parameters>(path, { decode: false }),
  addressOf: compile(address, { encode: false }),
}));

/** @returns the operation that reads it; undefined if it is not an address of a resource */
const readOf = (uri: string): readonly [operationId: string, params: Parameters] | undefined => {
  if (uri === ACCOUNT.uri) return ['getCurrentAccount', {}];
  const isStorable = uri.length <= URI_LENGTH_MAX && uri.isWellFormed() && !uri.includes('\0');
  if (!uri.startsWith(SCHEME) || !isStorable) return undefined;
  for (const { operationId, parametersIn } of addresses) {
    const found = parametersIn(uri.slice(SCHEME.length));
    if (found !== false) return [operationId, found.params];
  }
  return undefined;
};

/** @throws ResourceNotFoundError unless it is an address of a resource. Whether that exists is not looked up. */
export const refuseForeignUri = (uri: string): void => {
  if (readOf(uri) === undefined) throw new ResourceNotFoundError(uri);
};

/** @param path of a read of the API @returns undefined if it reads no resource of this surface */
export const uriOfPath = (path: string): string | undefined => {
  for (const { ofPath, addressOf } of addresses) {
    const found = ofPath(path);
    if (found !== false) return `${SCHEME}${addressOf(found.params)}`;
  }
  return undefined;
};

const ACCOUNT = { uri: `${SCHEME}account`, name: 'account', title: 'Account', mimeType: MIME_TYPE } as const;

export const resourceTemplates = (): ListResourceTemplatesResult => ({
  resourceTemplates: kinds.map(({ address, name, title, description }) => ({
    uriTemplate: `${SCHEME}${address.replaceAll(/:(\w+)/g, '{$1}')}`,
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
  const read = readOf(uri);
  if (read === undefined) throw new ResourceNotFoundError(uri);
  const [operationId, params] = read;
  try {
    const { data } = await invoke(operationId, { params });
    return { contents: [{ uri, mimeType: MIME_TYPE, text: JSON.stringify(data) }] };
  } catch (error) {
    const { body } = apiErrorOf(error);
    if (body.code === 'NOT_FOUND' || body.code === 'VALIDATION_ERROR') throw new ResourceNotFoundError(uri);
    throw error;
  }
};
