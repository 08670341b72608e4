export { createClient, type Answer, type ClientOptions, type Exchange } from './client.ts';
export { ExchangeConnectionError, ExchangeError, type ErrorCode } from './errors.ts';
export type { ListenOptions, Position } from './listen.ts';
export type { Item, ListPath, Page } from './pages.ts';
export type { CallOptions, Data, Method, Operation, Paths, PathsWith } from './paths.ts';
export type { UploadedAsset, UploadOptions, UploadProgress } from './upload.ts';
export {
  verifyWebhook,
  WebhookVerificationError,
  type ExchangeEvent,
  type VerifyOptions,
  type WebhookHeaders,
} from './webhook.ts';
export type { components, operations, paths, webhooks } from './api.ts';
