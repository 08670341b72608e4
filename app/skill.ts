import { unbuiltAreas } from './unbuilt-areas.ts';

/** `/skill.md`: what an agent needs to use the API. @param baseUrl without a slash at its end */
export const skill = (baseUrl: string): string => `# Buyer Exchange

The buyer side of an advertising exchange, over HTTP and JSON. This page tells an agent how to call it. Every endpoint,
with its fields and bounds, is in the OpenAPI document: ${baseUrl}/openapi.json or ${baseUrl}/openapi.yaml.

## Base URL

    ${baseUrl}/api/v2/buyer

Paths below are relative to it. \`${baseUrl}/api/v2/accounts/current\` says which account a credential belongs to.

## Authentication

Send an access token or an API key as a header: \`Authorization: Bearer <access token or API key>\`.

- An access token: OAuth 2.1, authorization code with PKCE (\`S256\`). Read
  ${baseUrl}/.well-known/oauth-authorization-server, register (RFC 7591) or use the https address of your client metadata
  document as \`client_id\`, and open the authorization endpoint in the browser of a person with the parameter
  \`resource=${baseUrl}/api/v2/buyer\`. The person allows or denies. A token is valid for an hour; refresh it.
- An API key: an admin issues it with \`POST /api-keys\`, and it is shown once. Ask the person for one.
- A person opens an account at ${baseUrl}/console/sign-up. Never ask for the password.

Scopes: \`exchange:read\` to read, \`exchange:write\` to create and change, \`exchange:admin\` for API keys, members and the
audit log, \`exchange:review\` for sellers. 401 means that the credential is missing, unknown, revoked or expired: refresh
the token once, then ask the person again. 403 means that it lacks a scope; \`WWW-Authenticate\` names it. Uploads of bytes need no key: the signed token in their \`uploadUrl\` is the credential.

## Answers

Every JSON answer is \`{"data": ..., "error": ...}\`. On success \`error\` is null. On failure \`data\` is null and \`error\` has
\`code\`, \`message\` (what to do), often \`field\` (the input at fault) and \`details\`. Lists that are paged by \`take\` and
\`skip\` also have \`meta.pagination\`: \`skip\`, \`take\`, \`total\`, \`hasMore\`. A page has 50 items unless \`take\` says otherwise.
Timestamps are UTC, ISO 8601. Request bodies are \`application/json\` in UTF-8; unknown members are ignored.

| status | code | what to do |
| --- | --- | --- |
| 400 | \`BAD_REQUEST\`, \`VALIDATION_ERROR\` | correct the input that \`field\` names |
| 404 | \`NOT_FOUND\` | check the id; it must belong to the account |
| 409 | \`CONFLICT\` | read the object again; its state forbids the change, or its revision is newer |
| 409 | \`IDEMPOTENCY_CONFLICT\` | send a new key: this one was used for another request |
| 409 | \`IDEMPOTENCY_IN_FLIGHT\` | repeat after \`Retry-After\` |
| 429 | \`RATE_LIMITED\` | repeat after \`Retry-After\` |
| 501 | \`NOT_IMPLEMENTED\` | do not repeat: the area is not available |
| 503 | \`SERVICE_UNAVAILABLE\` | repeat after \`Retry-After\` with the same key; the outcome may be unknown |

## Idempotency

Every write takes an \`Idempotency-Key\` header: 16 to 255 letters, digits, \`_\`, \`.\`, \`:\` or \`-\`. Send a new one with each
new write, and the same one when you repeat it: the write happens once, and for 24 hours the repeat gets the first answer
with \`Idempotent-Replayed: true\`. Retry creates only with the same key. A refusal (4xx) frees the key.

After a successful write, the account's next read shows it.

## The main calls, in order

1. \`POST /advertisers\` with \`name\`, and if you have them \`brand\` (a domain) and \`primaryCurrency\`. Ask the user to
   confirm the currency first: the first campaign locks it.
2. \`POST /advertisers/{id}/event-sources/sync\`, then \`POST /event-sources/{key}/events\` with 1 to 10,000 conversion
   events. Each event counts once for 90 days, however often it is sent. \`confirm: false\` shows what a call would do.
3. \`POST /advertisers/{id}/audiences/sync\` (members by hashes and universal ids, never by addresses) answers 202
   with a \`taskId\`; ask \`GET /tasks/{taskId}\` until it is completed. \`POST /advertisers/{id}/catalogs/sync\` for catalogs.
4. \`POST /adcp-agents\` registers an agent; \`POST /advertisers/{advertiserId}/syndicate\` switches an audience, event source or
   catalog on or off there; \`GET /advertisers/{advertiserId}/syndication-status\` shows how far it has come.
5. \`POST /campaigns\` with \`advertiserId\` and \`name\`.
6. \`POST /advertisers/{id}/assets/uploads\` reserves an upload. Send the bytes with PUT to its \`uploadUrl\` as
   \`application/octet-stream\`. \`GET /advertisers/{id}/assets\` lists the library.
7. \`POST /campaigns/{id}/creatives\` makes a creative, \`GET /creatives/{cid}/detail\` shows it with the reviews of sellers,
   \`POST /campaigns/{id}/creatives/{cid}/duplicate\` copies it.
8. \`POST /campaigns/{id}/creative-sessions\` has a creative engine draft one; evaluate, refine and finalize it there.
9. \`POST /campaigns/{id}/execute\` launches the campaign and submits its creatives to the sellers.
10. \`GET /audit-logs\` and \`GET .../history\` show who changed what.

## Tools

${baseUrl}/mcp/v3 (also ${baseUrl}/mcp) offers the same as tools of the Model Context Protocol: streamable HTTP, protocol versions
up to 2026-07-28, with the same credentials; for OAuth with the parameter \`resource=${baseUrl}/mcp\`. Begin with \`get_status\`. A write takes
\`idempotencyKey\`. Some writes answer \`pending_confirmation\` first: show the person its summary, then repeat the call with
\`confirm: true\` and its \`confirmationUid\`.

If you speak AdCP 3, ${baseUrl}/adcp/mcp is an agent that asks all connected sellers: \`get_products\` and
\`get_media_buy_delivery\` (${baseUrl}/guides/adcp-agent.md).

## Limits

By default a key or a token may send 100 requests a minute, and an address without one 100 a minute. Every counted answer
has \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` (seconds). Honor \`Retry-After\`, add about 25 % jitter,
and stop after 3 to 5 retries. A JSON body has at most 1 MiB; 16 MiB of conversion events or catalogs, 32 MiB of
audiences; an upload says its own \`maxBytes\`. An account has at most 100 active API keys.

## Not available

These areas answer 501: ${unbuiltAreas.join(', ')}.
`;
