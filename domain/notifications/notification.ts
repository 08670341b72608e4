/** What one event tells the clients of its account: the body of webhooks, realtime frames and `GET /events`. */
export interface Notification {
  /** `<resource>.<action>`, e.g. `creative.updated`. */
  readonly kind: string;
  readonly resourceType: string;
  /** As the API shows it. */
  readonly resourceId: string;
  /** Revision of the event's stream after the event: `?asOf=<revision>` reads the state at that moment. */
  readonly revision: number;
  /** Names of the resource's members that the event changed; empty for a created resource. */
  readonly changed: readonly string[];
  /** Path of the resource with its query, below the base URL, without `asOf`. Undefined if the API has no read of it. */
  readonly path: string | undefined;
}
