/** Imported on use only: the library and koa take memory and time to load. */
export { InvalidGrant, InvalidTarget } from 'oidc-provider/lib/helpers/errors.js';
export { Check, Prompt } from 'oidc-provider/lib/helpers/interaction_policy/index.js';
export { Provider } from 'oidc-provider/lib/provider.js';
