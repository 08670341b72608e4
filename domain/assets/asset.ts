import { accept, refuse, type Decision } from '../decision.ts';
import { assetEvents, type AssetEvent, type AssetReserved, type AssetUploaded } from './events.ts';
import type { Asset } from './resource.ts';

export const ASSET = 'asset';

export const assetStream = (customerId: number, assetId: string): string =>
  `${ASSET}-${customerId}-${assetId}`;

export type AssetState = { readonly status: 'NONE' } | Asset;

const initialState = { status: 'NONE' } as const;

const evolve = (state: AssetState, event: AssetEvent): AssetState => {
  const at = event.occurredAt;
  switch (event.type) {
    case 'AssetReserved':
      return { ...event.data, status: 'RESERVED', createdAt: at, updatedAt: at };
    case 'AssetUploaded':
      if (state.status === 'NONE') return state;
      return { ...state, ...event.data, status: 'READY', createdAt: at, updatedAt: at };
    case 'AssetReservationExpired':
      return state.status === 'RESERVED' ? { ...state, status: 'EXPIRED', updatedAt: at } : state;
    case 'AssetRemoved':
      return state.status === 'READY' ? { ...state, status: 'REMOVED', updatedAt: at } : state;
    default:
      return (event satisfies never, state);
  }
};

export type AssetCommand =
  | { readonly type: 'ReserveAsset'; readonly now: string; readonly asset: AssetReserved }
  | { readonly type: 'CompleteUpload'; readonly now: string; readonly upload: AssetUploaded }
  | { readonly type: 'ExpireReservation'; readonly now: string }
  | { readonly type: 'RemoveAsset'; readonly now: string };

export interface AssetRefusal {
  readonly reason: 'not-found' | 'already-exists' | 'other-bytes' | 'gone';
}

const decide = (command: AssetCommand, state: AssetState): Decision<AssetEvent, AssetRefusal> => {
  switch (command.type) {
    case 'ReserveAsset':
      if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
      return accept({ type: 'AssetReserved', data: command.asset, occurredAt: command.now });
    case 'CompleteUpload':
      return completeUpload(command.upload, command.now, state);
    case 'ExpireReservation':
      if (state.status !== 'RESERVED') return accept();
      return accept({ type: 'AssetReservationExpired', data: {}, occurredAt: command.now });
    case 'RemoveAsset':
      if (state.status !== 'READY') return refuse({ reason: 'not-found' });
      return accept({ type: 'AssetRemoved', data: {}, occurredAt: command.now });
    default:
      return command satisfies never;
  }
};

/** The first of several uploads counts; the same bytes again change nothing. */
const completeUpload = (
  upload: AssetUploaded,
  now: string,
  state: AssetState,
): Decision<AssetEvent, AssetRefusal> => {
  switch (state.status) {
    case 'RESERVED':
      return accept({ type: 'AssetUploaded', data: upload, occurredAt: now });
    case 'READY':
      return upload.sha256 === state.sha256 ? accept() : refuse({ reason: 'other-bytes' });
    case 'EXPIRED':
    case 'REMOVED':
      return refuse({ reason: 'gone' });
    case 'NONE':
      return refuse({ reason: 'not-found' });
    default:
      return state satisfies never;
  }
};

export const assetFold = {
  category: ASSET,
  stream: assetStream,
  events: assetEvents,
  initialState,
  evolve,
};
export const assetAggregate = { ...assetFold, decide };
